"""What people say without naming a tool's verb: natural requests for the tools of `actions`.

Covers: for each tool a few sentences of train and one or two held out, whose telling words train sentences or the
tool's own verbs and objects hold too. Slots are those of `route`. Does not cover: calibration, which has the
patterns of `route` alone.
"""

from __future__ import annotations

TABLE = """
book_room | We need a room for {n} people at {time}. / Is the board room free at {time}? / I have a meeting with {n} people and no room. | We are {n} people and need a meeting room at {time}.
find_slot | When are all of us free? / When can {n} people meet? / Which hour suits all of us? | When are we all free on {day}?
create_event | Put the dinner with {person} in my calendar. / New appointment with {person} on {day}. / {day} at {time}: meet {person}, into the calendar please. | Put a new appointment with {person} in the calendar.
cancel_event | I cannot come to the meeting on {day}. / The meeting with {person} will not happen. / No appointment on {day}, I am ill. | I cannot come to the appointment with {person}.
send_email | Let {person} know by mail that I am late. / Mail {person} about the {noun}. / An e-mail to {person}, please. | Let {person} know about the {noun} by e-mail.
read_inbox | Do I have new mail? / Any mail from {person}? / What is new in my inbox? | Is there any new mail in my inbox?
send_sms | Let {person} know by SMS. / An SMS to {person}: I am late. / A short text to {person}, please. | {person} should get an SMS from me.
call_person | I want to talk to {person} on the phone. / Get {person} on the line. / Dial the number of {person}. | I want to talk to {person}, dial the number.
translate_text | How do you say this in {language}? / What does this mean in {language}? / I need this sentence in {language}. | What does this sentence mean in {language}?
summarize_text | This report is too long for me. / What are the main points of the article? / Give me the short version of the document. | The article is too long, what are the main points?
get_weather | Will it rain in {place}? / Do I need an umbrella in {place}? / How warm will it be on {day}? / What's the weather in {place}? | Will it be warm or will it rain in {place} on {day}?
set_alarm | Wake me at {time}. / I have to get up at {time}. / Wake me up early on {day}. | I have to get up at {time}, wake me.
set_timer | Tell me when {n} minutes are over. / The tea needs {n} minutes. / {n} minutes for the pasta, please. | Tell me when the {n} minutes for the tea are over.
add_reminder | Don't let me forget the {noun}. / On {day} I must not forget to pay. / I always forget the {noun}, tell me on {day}. | Don't let me forget to pay on {day}.
play_music | I want to hear something by {person}. / Some jazz, please. / It is too quiet, let us dance. | I want to hear some jazz.
stop_music | The music is too loud now, off. / No more songs, please. / Enough of this music. | Enough, no more music please.
set_lights | It is too dark in here. / Make it brighter. / I cannot see a thing, it is dark. | It is dark, make it brighter in here.
set_heating | It is too cold in here. / I am freezing, {n} degrees please. / It is much too hot in this room. | It is cold in this room, {n} degrees please.
lock_door | Is the door shut? Make sure of it. / Nobody should be able to come in tonight. / Keep the entrance shut. | Make sure nobody is able to come in by the door.
open_camera | Who is at the door? / Let me see what happens outside. / I want to see the garage. | Let me see who is at the door outside.
order_food | I am hungry. / We would like to eat pasta at home. / Dinner for {n}, delivered to the door. | We are hungry and would like to eat at home.
book_table | We want to eat out on {day}. / Is there a free table for {n}? / {n} people, at a restaurant, at {time}. | A free table for {n} people at a restaurant, please.
book_flight | I have to fly to {place}. / By plane to {place} on {day}. / Is there a plane to {place}? | I have to fly to {place} on {day}.
book_train | By train to {place} on {day}. / Is there a railway connection to {place}? / I go to {place} by rail. | I go to {place} by train on {day}.
rent_car | I need a car for {n} days. / We want to drive around {place} for {n} days. / A rental in {place}, please. | We need a rental for {n} days to drive around.
call_taxi | I need a ride to the station. / Somebody has to pick me up at {time} and take me to {place}. / Send a driver to take me to {place}. | A driver has to pick me up and take me to {place}.
find_route | How do I get to {place}? / How far is it from here to {place}? / I am lost, where is {place}? | I am lost, how do I get to {place}?
track_parcel | Where is my order {code}? / When will my delivery arrive? / Has {code} been shipped yet? / Where is my package? | When will my order {code} arrive?
return_item | The shoes do not fit, I don't want to keep them. / I don't like the {noun}, take it back. / This is the wrong size, I want to give it back. | The {noun} does not fit, I want to give it back.
refund_payment | I want my money back. / {person} was charged twice, give back {amount} euros. / I paid too much, I want it back. | I was charged twice and want my money back.
create_invoice | {person} owes us {amount} euros, send the bill. / Charge {person} for the work. / We need to bill {person}. | {person} owes us for the work, send a bill.
transfer_money | Pay {person} {amount} euros from my account. / Send {amount} euros to {person}. / {person} should get {amount} euros from me. | {person} should get {amount} euros from my account.
get_balance | How much money do I have? / Am I in the red? / What is left on my account? | How much is left on my account?
convert_currency | How much is {amount} dollars in euros? / What are {amount} euros in dollars? / What is the rate of the dollar? | What is {amount} dollars in euros today?
calculate | What is {n} times {n}? / How much is {n} plus {amount}? / {amount} divided by {n}, please. | How much is {amount} times {n}?
search_web | What is new about {place} on the internet? / Google {person} for me. / What do people write online about the {noun}? | What do people write about {place} on the internet?
search_files | Where did I save the text about the {noun}? / Which of my documents mention {person}? / I cannot find my file about the {noun}. | Which of my files mention the {noun}?
share_file | {person} should be able to open my spreadsheet. / Give {person} access to the folder. / {person} needs access to my file. | {person} should be able to open the file, give access.
delete_file | I do not need the file {code} any more. / Get rid of the old copies. / Throw away the file {code}. | Get rid of the file {code}, I do not need it.
create_ticket | I want to report a problem with the {noun}. / The app crashes, please report it to support. / Something is broken, tell support. | I want to report to support that the app crashes.
close_ticket | The problem {code} is solved. / The case {code} is done. / That bug is fixed, we are done with {code}. | The case {code} is solved, we are done.
restart_service | {service} hangs, turn it off and on again. / The server is stuck, off and on please. / {service} does not answer any more, start it again. | {service} hangs and is stuck, start it again.
deploy_release | Bring version {code} to production. / Version {code} should go live. / The build is ready for the customers, go live. | Version {code} is ready, bring it live.
rollback_release | The new version is broken, back to the old one. / Go back to version {code}. / Production fails since the last version, go back. | Production is broken, go back to the old version.
read_logs | What did {service} write since {time}? / Which errors did {service} have? / Show what {service} printed at {time}. | Which errors did {service} write since {time}?
scale_service | {service} needs more workers. / The load is high, add {n} replicas. / {service} is too slow, give it {n} more servers. | The load is high, {service} needs {n} more replicas.
add_user | {person} is new in the team and needs an account. / Give {person} a login. / Our new colleague {person} should join the team. | Our new colleague {person} needs an account.
reset_password | I cannot log in any more. / {person} forgot the password. / I am locked out. / My login does not work. | {person} cannot log in and is locked out.
print_document | I need this page on paper. / {n} copies on paper, please. / Put this in the printer. | I need {n} copies of this on paper.
take_note | Keep this idea for later. / I just had an idea about the {noun}. / Keep in mind what {person} said. | I had an idea, keep it for later.
"""


def _row(line: str) -> tuple[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    name, train, held_out = (part.strip() for part in line.split(" | "))
    return name, (tuple(train.split(" / ")), tuple(held_out.split(" / ")))


SAYINGS = dict(_row(line) for line in TABLE.strip().splitlines())  # tool: (train, held out)
