"""The tools that requests are routed to: names, the verbs and objects people use for them, parameters.

A verb and an object that occur together in one split never do in another (`pairs`), so a held-out utterance
is an unseen pair inside an unseen sentence. Every service behind these tools is made up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kit.checkpoint.training.samples import Split

TABLE = """
book_room | book, reserve, hold | a meeting room, a conference room, the board room | for {n} people, at {time} | room* start* minutes=60
find_slot | find, look for, suggest | a free slot, a time when all are free, a common hour | for {n} people, on {day} | people* days=5
create_event | add, enter, create | a calendar event, an appointment, a date in the calendar | on {day}, at {time} with {person} | title* start* place
cancel_event | cancel, drop, call off | the appointment, the meeting, the calendar event | on {day}, with {person} | event_id* reason
send_email | send, write, compose | an e-mail, a mail, a mail message | to {person}, about the {noun} | to* subject body*
read_inbox | read, open, show | the inbox, my new mails, the unread mail | from {person}, of {day} | folder=inbox unread=true
send_sms | text, send, type | a text message, an SMS, a short message | to {person}, saying hello | number* text*
call_person | call, ring, phone | the number, the mobile, the phone line | of {person}, in {place} | number* record=false
translate_text | translate, render, put | this text, the sentence, the paragraph | into {language}, from {language} | text* target*
summarize_text | summarize, shorten, condense | the article, the long report, the document | in {n} lines, for {person} | text* sentences=3
get_weather | check, tell me, forecast | the weather, the temperature outside, rain and wind | in {place}, on {day} | city* days=1 units=metric
set_alarm | set, put, arm | an alarm, the alarm clock, a wake-up call | at {time}, on {day} | time* repeat=none
set_timer | start, set, run | a timer, a countdown, the kitchen timer | of {n} minutes, for the tea | minutes* label
add_reminder | remind me of, note down, remember | the task, a thing to do, a reminder | on {day}, about the {noun} | text* due
play_music | play, put on, hear | some music, a song, the playlist | by {person}, in the {noun} | title* volume=50
stop_music | stop, pause, silence | the music, the song that plays, the speaker | now, in the {noun} | room
set_lights | dim, switch on, brighten | the lights, the lamp, the ceiling lamps | in the {noun}, to {n} percent | room* level=100
set_heating | heat, warm up, cool down | the flat, the heating, the thermostat | to {n} degrees, in {place} | zone* degrees*
lock_door | lock, bolt, secure | the front door, the garage door, the entrance | now, at {time} | door* code
open_camera | watch, stream, view | the door camera, the video feed, the camera picture | of the {noun}, in {place} | camera* seconds=30
order_food | order, get, fetch | a pizza, some dinner, a hot meal | for {n} people, from {place} | dish* address
book_table | reserve, book, ask for | a table, a seat in a restaurant, a dinner table | for {n} people, at {time} | restaurant* guests* time
book_flight | book, buy, reserve | a flight, a plane ticket, a seat on the plane | to {place}, on {day} | origin* target* date*
book_train | book, buy, get | a train ticket, a railway seat, a rail ticket | to {place}, on {day} | origin* target* class=2
rent_car | rent, hire, take | a car, a small van, a rental car | in {place}, for {n} days | place* days*
call_taxi | call, order, send for | a taxi, a cab, a ride | to {place}, at {time} | pickup* target
find_route | find, show, plan | the way, the shortest route, a route on the map | to {place}, from {place} | origin target* mode=car
track_parcel | track, follow, locate | the parcel, my package, the shipment | {code}, to {place} | number* carrier
return_item | return, send back, give back | the item, the broken {noun}, an article I bought | order {code}, from {place} | order_id* reason
refund_payment | refund, pay back, reimburse | the payment, the money, the amount | of {amount} euros, to {person} | payment_id* amount*
create_invoice | issue, create, bill | an invoice, a bill, a payment request | over {amount} euros, for {person} | customer* amount* currency=EUR
transfer_money | transfer, wire, move | money, a sum, {amount} euros | to {person}, to the account {code} | account* amount*
get_balance | tell me, check, look up | the account balance, the money left, my bank balance | of {person}, today | account* currency
convert_currency | convert, exchange, change | dollars into euros, {amount} dollars, foreign currency | at the rate of {day}, for {person} | amount* source* target*
calculate | compute, calculate, work out | the sum, the result of {n} plus {n}, a formula | for me, with {n} | expression* digits=2
search_web | search, google, research | the web, the internet, online sources | for the {noun}, about {place} | query* count=10
search_files | search, look through, scan | the files, the shared folder, my documents | for the {noun}, by {person} | query* folder
share_file | share, pass on, give access to | the file, the folder, the spreadsheet | with {person}, for {n} days | file* with* write=false
delete_file | delete, erase, remove | the file, the old document, the copies on disk | {code}, of {person} | path* force=false
create_ticket | open, create, file | a ticket, a support case, a bug report | about the {noun}, for {person} | title* priority=normal
close_ticket | close, resolve, finish | the ticket, the support case, the bug report | {code}, of {person} | ticket_id* note
restart_service | restart, reboot, bounce | the service, the server, the {service} process | on {place}, now | service* graceful=true
deploy_release | deploy, roll out, ship | the release, the new version, the build | {code}, to production | version* target=staging
rollback_release | roll back, revert, undo | the release, the last deployment, the new version | to {code}, at {time} | service* version
read_logs | read, show, tail | the logs, the error log, the log lines | of {service}, since {time} | service* lines=100
scale_service | scale, grow, resize | the cluster, the replicas, the number of workers | to {n}, of {service} | service* replicas*
add_user | add, invite, register | a new user, a member, an account for {person} | in the team, with code {code} | email* role=viewer
reset_password | reset, renew, change | the password, the login, the access code | of {person}, at {time} | user* notify=true
print_document | print, put on paper, run off | the document, the page, {n} copies | for {person}, in colour | file* copies=1
take_note | jot down, write down, take | a note, a memo, the idea | about the {noun}, for {person} | text* tags
"""


@dataclass(frozen=True)
class Action:
    """One tool. Objects and details may hold slots such as {place}."""

    name: str
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    details: tuple[str, ...]
    parameters: dict[str, Any]
    required: tuple[str, ...]

    def pairs(self, split: Split) -> list[tuple[str, str]]:
        """The (verb, object) pairs of a split: in train two of three, so that every word of them occurs there."""
        rows = ((i, j) for i in range(len(self.verbs)) for j in range(len(self.objects)))
        return [(self.verbs[i], self.objects[j]) for i, j in rows if split_of_pair(i, j) == split]


def split_of_pair(row: int, column: int) -> Split:
    if (row + column) % 3:
        return "train"
    return "calibration" if row % 3 == 0 else "held-out"


def _action(line: str) -> Action:
    name, verbs, objects, details, params = (field.strip() for field in line.split("|"))
    properties: dict[str, Any] = {}
    required = []
    for item in params.split():
        key, _, default = item.rstrip("*").partition("=")
        properties[key] = {"type": "string"} | ({"default": default} if default else {})
        if item.endswith("*"):
            required.append(key)

    def listed(text: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in text.split(","))

    return Action(name, listed(verbs), listed(objects), listed(details), properties, tuple(required))


ACTIONS = tuple(_action(line) for line in TABLE.strip().splitlines())
