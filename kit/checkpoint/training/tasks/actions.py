"""The tools that requests are routed to: names, the verbs and objects people use for them, parameters, descriptions.

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

DESCRIPTIONS = """
book_room | Meeting rooms and who has them at what time / Finds a place for people to meet and keeps it free / Use when people need a room to meet in / reserves rooms | Reservation of rooms for meetings
find_slot | Free hours that several people share / Compares calendars and proposes when to meet / Use when somebody asks at what time all can meet / times that suit everybody | Common free time of a group of people
create_event | New entries for the calendar / Puts something into the user's calendar / Use when a date should be kept in the calendar / writes appointments | Adding appointments to a calendar
cancel_event | Removal of entries from the calendar / Takes a meeting out of the calendar and tells the guests / Use when a meeting does not take place / removes appointments | Deleting a date that will not take place
send_email | Outgoing electronic mail / Writes a mail and sends it off / Use when something should be told by mail / writes mails | Sending of e-mails to one or more people
read_inbox | Incoming mail of the user / Lists the mails that came in / Use when somebody asks for new mail / reads mails | Access to received e-mails
send_sms | Short messages to a mobile phone / Sends a few words to somebody's phone / Use when a text message should be sent / texts people | Texting to a phone number
call_person | Phone calls / Connects the user with somebody by phone / Use when the user wants to speak to somebody / makes calls | Dialling of phone numbers
translate_text | Words in another language / Says the same in another language / Use when a text must be understood in another language / from one language into another | Turning a text from one language into another
summarize_text | The main points of a text / Makes a long text short / Use when a text is too long to read / shortens texts | Short versions of long texts
get_weather | Sun, rain and temperature at a place / Returns what the weather will be / Use when somebody asks about rain, wind or how warm it is / weather reports | Weather of a city for some days
set_alarm | Waking people at an hour / Rings at a time of day to wake the user / Use when somebody has to get up / wakes the user | Ringing at a given time of the morning
set_timer | Counting down minutes / Rings when some minutes are over / Use when something takes a number of minutes, such as cooking / counts minutes | Countdown that beeps at its end
add_reminder | Things to remember later / Tells the user of a thing on the right day / Use when something should not be forgotten / reminds people | Keeping of things that must not be forgotten
play_music | Songs and albums / Starts music from a speaker / Use when the user would like to hear music / starts songs | Music player, on
stop_music | Silence in place of music / Turns off what the speaker plays / Use when the music should end / ends songs | Music player, off
set_lights | Lamps and how bright they are / Makes a room brighter or darker / Use when it is too dark or too bright / controls lamps | Light in the rooms of a house
set_heating | Warmth of the rooms / Makes a room warmer or colder / Use when somebody feels cold or hot inside / controls the heating | Temperature inside the house
lock_door | Doors of the house, shut with a key / Shuts a door so that nobody comes in / Use when a door should be locked / shuts doors | Locking of entrances
open_camera | Live pictures from cameras / Shows what a camera sees at the door or outside / Use when the user wants to see who or what is there / shows pictures from outside | Live view from a camera
order_food | Meals brought to the door / Has hot food delivered / Use when somebody is hungry at home / brings meals | Delivery of meals
book_table | Seats in restaurants / Keeps seats in a restaurant for guests / Use when people want to eat out / restaurant tables | Reservations at restaurants
book_flight | Journeys by plane / Buys seats on planes / Use when the user wants to fly / plane tickets | Air travel
book_train | Journeys by rail / Buys seats on trains / Use when the user wants to go by train / rail tickets | Rail travel
rent_car | Cars to drive oneself for some days / Gets the user a car for a number of days / Use when somebody needs a car to drive / lends cars | Cars for hire
call_taxi | Rides with a driver / Sends a driver to pick up the user / Use when somebody has to be driven somewhere / sends drivers | Cabs that pick people up
find_route | The way from one place to another / Shows how to get to a place and how far it is / Use when somebody asks for the way / shows the way | Directions and distances
track_parcel | Where a parcel is / Tells where an order is and when it arrives / Use when somebody waits for a delivery / follows parcels | Status of deliveries
return_item | Goods that go back to the shop / Has an article taken back / Use when a customer does not want to keep an article / takes articles back | Sending of articles back to the shop
refund_payment | Money back to customers / Gives a customer the money back / Use when somebody paid too much or wants money back / pays back | Repayment of what was paid
create_invoice | Bills for customers / Writes down what a customer has to pay / Use when a customer owes money for goods or work / writes bills | Billing of customers
transfer_money | Payments from the user's account / Sends money to another account / Use when the user wants to pay somebody / sends money | Payments to other people
get_balance | What is left in the bank / Tells how much money is on the account / Use when somebody asks how much money there is / money on the account | State of a bank account
convert_currency | Exchange rates / Tells what an amount is in other money / Use when money of one country is asked for in that of another / exchange of money | Amounts of money in another currency
calculate | Sums and other arithmetic / Works out numbers / Use when there is something to add, multiply or divide / does sums | Arithmetic with numbers
search_web | Pages on the internet / Looks something up online / Use when the answer may stand on the internet / looks things up online | Lookup of public web pages
search_files | Documents of the user / Finds documents by the words in them / Use when the user does not know where a document is / finds documents | Finding of saved documents
share_file | Access to files for other people / Lets somebody else open a file / Use when another person should see or edit a file / gives access to files | Permission for others to read a file
delete_file | Removal of files / Takes a file off the disk for ever / Use when a file is not needed any more / throws files away | Erasing of files from the disk
create_ticket | New cases for support / Tells support that something is broken / Use when a problem should be reported / reports problems | Reporting of faults to support
close_ticket | Cases that are over / Marks a problem as solved / Use when a reported problem is fixed / ends support cases | Marking of a support case as done
restart_service | Services that hang / Turns a service off and on again / Use when a service does not answer / off and on again | Fresh start for a service
deploy_release | New versions for production / Brings a version to the customers / Use when a new version should go live / puts versions live | Going live with a build
rollback_release | Back to an older version / Takes a new version out of production again / Use when a new version is broken / back to the version before | Return to the version before the last one
read_logs | What services wrote / Shows the output and the errors of a service / Use when somebody wants to know what a service did / shows what a service wrote | Output of services, line by line
scale_service | More or fewer machines for a service / Changes how many workers a service has / Use when the load is too high or very low / size of a service | Number of machines behind a service
add_user | New people in the system / Gives a new colleague an account / Use when somebody new needs access / makes accounts | Accounts for new members
reset_password | New passwords / Lets people in again who forgot their password / Use when somebody cannot log in / renews passwords | Help for users who are locked out
print_document | Pages on paper / Brings a document out on paper / Use when something is wanted on paper / puts pages on paper | Paper copies of documents
take_note | Notes and ideas / Writes an idea down to keep it / Use when the user has a thought to keep / keeps thoughts | Writing down of ideas
"""  # of train, then held out


@dataclass(frozen=True)
class Action:
    """One tool. Objects and details may hold slots such as {place}. descriptions: what is written of it, of both splits."""

    name: str
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    details: tuple[str, ...]
    parameters: dict[str, Any]
    required: tuple[str, ...]
    descriptions: tuple[tuple[str, ...], str]

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

    return Action(name, listed(verbs), listed(objects), listed(details), properties, tuple(required), _DESCRIBED[name])


def _described(line: str) -> tuple[str, tuple[tuple[str, ...], str]]:
    name, train, held_out = (part.strip() for part in line.split(" | "))
    return name, (tuple(train.split(" / ")), held_out)


_DESCRIBED = dict(_described(line) for line in DESCRIPTIONS.strip().splitlines())
ACTIONS = tuple(_action(line) for line in TABLE.strip().splitlines())
