"""Teams for triage: what they are called, what is theirs, and what people write to them without naming a topic.

Covers: for each team its names, topics and what happens to them, sentences that say what it is for, and everyday messages
of train, calibration and held-out. `[a;b]` stands for either (`messages.spread`); slots are those of `triage`. Every team
is made up. Does not cover: how a ticket is put together (`triage`).
"""

from __future__ import annotations

from dataclasses import dataclass

from kit.checkpoint.training.tasks.messages import wordings
from kit.checkpoint.training.vocabulary import Wordings

TABLE = """
billing | billing, payments, invoices, bills and charges
invoice, bill, charge, direct debit, receipt, VAT number | is wrong, came twice, shows the old amount
what customers owe and pay / bills, charges and how to pay them / anything about an amount on a bill
I was charged [twice;two times;too much] [this month;in {day}'s run;again]. / Why [is my bill so high;do I pay more than last month;does the total not add up]? / You [charged;billed me;took] the wrong amount. / I do not understand [my bill;this sum;what I am paying for]. / The amount [on the bill;to pay] is too high. / [Two sums;The same sum] left my account [for one order;on {day};twice]. / Please send [the bill;me the receipt] [again;to our new address]. / My card was [declined;refused] when I tried to pay. / [We pay;I am paying] for {n} seats but have only half of them. / Can I pay [later;in three parts;by transfer instead]? / The tax on [it;the bill] is [not right;missing]. / Our accountant needs [last year's bills;a proper receipt].
We were billed for something we never ordered.
I was charged the wrong amount this month. / Somebody took the sum from my card two times. / The total to pay is not what we agreed.

refunds | refunds, money back, repayments, refunds and credit
refund, money back, credit note, chargeback, deposit, cashback | never arrived, is still open, was promised last week
giving money back / paying customers back what they are owed / when somebody wants their money again
I want my money back. / When do I get my money back? / I have been waiting for [the;my] money since {day}. / Please pay it back to my card. / You promised to [pay me back;return the sum;give the money back]. / I cancelled [it;the order] and still have not got [a cent;the money] back. / Can I have [my money;the {n} euros] [back;returned] [instead of a voucher;to another account]? / [Where is;What about] the money you owe me? / The shop said I would get {n} euros back. / My deposit has not [come back;been returned]. / I sent everything back, now I am waiting for my money. / How long [until;does it take until] the money is on my account again?
They said the sum would be paid back, nothing came.
I have been waiting to get my money back. / You still owe me the {n} euros for the order I cancelled. / When will the sum be returned to my card?

identity | identity, login, access, passwords, sign-in
password, login, second factor, user account, access code, sign-in page | does not work, is locked, was rejected
everything one needs to get in: logins and passwords / people who cannot sign in / who may enter a system, and with which password
I cannot [log in;sign in;get into my account]. / I forgot my password. / It says that my account is locked. / My code is not accepted at sign-in. / It does not [take;accept] my password [any more;since {day}]. / The code for signing in never [comes;arrives]. / [{person};A new colleague] needs [a login;an account] [by {day};to start]. / I typed my password wrong three times and now [I am locked out;it is blocked]. / How do I change my password? / It [asks;keeps asking] me to sign in [again and again;every minute]. / I married, please change the name of my login. / I have a new phone and the second code is still on the old one.
I am locked out since {day}.
I forgot the code and cannot log in. / It refuses my password, what now? / Please unlock me, I typed it wrong too often.

network | network, internet, connections, network and wifi
wifi, VPN, network cable, internet line, router, proxy | is slow, drops all the time, has no signal
wires and wifi between our machines / lines, routers and signal / when nobody gets online
There is no internet [in the office;on floor {n};in {place}]. / The connection drops [all the time;every few minutes]. / Pages load very slowly, the wifi is weak. / [Nobody;No one] [up here;in {place};on our floor] can get online. / We are offline [since {day};again;in the whole building]. / I have no signal in [the meeting room;{place}]. / Video calls freeze because the line is [so slow;bad]. / From home I cannot reach [the office;our drives] [over the VPN;any more]. / The wifi [is gone;disappeared;comes and goes]. / All cables are in and still no machine is online. / Guests cannot join the wifi. / Everything that needs the internet takes ages here.
The line in {place} is dead, we are all offline.
There is no wifi connection in the office. / Nobody on floor {n} gets online. / We lose the signal every few minutes.

printing | printing, printers, print and copy, paper and ink
printer, toner, paper tray, scanner, copy machine, ink | is jammed, is empty, prints stripes
all that puts things on paper / printers, scanners and what they use up / copies, ink and paper
Nothing comes out when I print. / I cannot [print;scan;print or scan] [anything;today]. / The copies have stripes on paper. / Every page comes out [blank;grey;with a black line]. / Paper is stuck [in the machine;inside again]. / We are out of [ink;toner;paper] [on floor {n};in {place}]. / It [says;shows] paper jam, but there is no paper in it. / The machine on floor {n} [eats;tears] the paper. / My pages come out [on the wrong floor;in the wrong size;upside down]. / I sent {n} pages and only one came out. / The colours on paper are [wrong;pale]. / How do I scan to my mail?
My pages wait in the queue and none comes out.
Nothing comes out on paper when I scan or print. / The sheets are all blank when they come out. / A sheet got stuck inside and now it beeps.

hardware | hardware, devices, computers, equipment
laptop, monitor, keyboard, mouse, docking station, battery | is broken, stays dark, gets too hot
machines on the desk / computers and what is plugged into them / broken or missing equipment
My computer does not turn on. / The screen stays dark. / I spilled [tea;coffee;water] over the keys. / Some keys [do nothing;are stuck;fell off]. / It [gets very hot;is loud as a plane] and [turns itself off;smells burnt]. / The battery is empty after {n} minutes. / I dropped it and now the screen [is cracked;has a crack]. / I need a [bigger;second] screen [for my desk;by {day}]. / The [fan;charger] [makes a strange noise;does not charge any more]. / Nothing happens when I press the power button. / The pointer jumps when I move my mouse. / {person} starts on {day} and needs a computer.
My machine went black and does not start again.
The screen of my computer does not turn on. / The charger is dead and I am at {n} percent. / I dropped my machine, some keys are gone.

delivery | delivery, shipping, couriers, parcels, deliveries
parcel, courier, shipment, tracking number, delivery van, package | is late, went to another address, is lost
getting orders to the door / parcels on their way / where an order is and when it comes
Where is my order? / My order has not arrived. / The driver [left it in the rain;did not ring;threw it over the fence]. / Nothing was delivered on {day}. / It should have been here [on {day};{n} days ago;yesterday]. / The [tracking;page] says delivered, but [I got nothing;there is nothing here]. / A neighbour got my order. / Can it [come;be brought] on {day} instead? / I will not be home on {day}, [can the driver leave it next door;please come later]. / I moved, please send my order to {place}. / It has been on the way for {n} days. / Half of my order is still missing.
I stayed home all {day} and no driver came.
My order was not delivered, where is it? / It was due on {day} and nobody brought it. / The driver never rang, when does he come again?

returns | returns, exchanges, returns and exchanges, sending back
return label, exchange, returned shoes, wrong size, broken article, return box | must be picked up, was not accepted, has to go back
things customers send back / wrong, broken or unwanted goods / exchanging one article for another
I want to send the shoes back. / It does not fit, I would like another size. / How do I send it back? / You sent [me;us] the wrong [colour;size;thing]. / It [arrived;came out of the box] [broken;cracked;with a scratch]. / I do not [want;like] it [any more;after all], how do I give it back? / Can I [swap;exchange] it for [a bigger one;a blue one;another one]? / I ordered one and got two, [one;the second] has to go back. / Where do I get the label to send it back? / It looks nothing like the picture, I will not keep it. / The box for sending it back is too small. / It was a gift and they already have one, please take it back.
The sleeves are too short, I would like to swap it.
It does not fit, how do I send it back? / What I got is broken, I want another one. / This is not the colour I chose, please take it back.

hiring | hiring, recruiting, jobs, applications
job offer, interview, application, trainee, candidate, hiring form | needs an answer, was moved, is missing
finding new colleagues / people who want to work here / open jobs and those who apply
I would like to apply for the job. / Are there open jobs in {place}? / When will you decide about my application? / I sent you my papers {n} days ago and [heard nothing;got no answer]. / Do you [take;have] [trainees;summer jobs] [this year;in {place}]? / I am [a nurse;a driver;an engineer] and would like to work for you. / We need [one more person;two more people] for our team, [please find somebody;who looks for them]? / May I bring forward my interview? / My sister is looking for work, do you need somebody? / The candidate for {day} [cannot come;is ill]. / Whom do I ask about the open position? / I finish school this summer and want to start with you.
I saw that you look for people in {place}.
I would like to apply for an open job in {place}. / Do you need somebody for the summer? / I had an interview on {day} and heard nothing since.

payroll | payroll, salaries, wages, pay
salary, payslip, overtime, bonus, wage tax, expense claim | was not paid, is too low, has an error
what our employees earn / wages and extra hours / paying the people who work here
I was not paid for my extra hours. / My [pay;salary] is missing this month. / Who can explain the tax on my pay? / My [wage;pay] is [lower;less] than [last month;in my contract]. / I worked [{n} hours;two Sundays] more and [it is not on my slip;see none of it in my pay]. / When [do we get;is] the [yearly bonus;bonus] [paid;this year]? / I have a new bank account for my [salary;wage]. / My payslip [has another person's name;never came]. / I paid for the taxi to work myself, how do I get it with my salary? / I now work three days a week, is my pay right? / My raise of {n} percent is not in my [pay;wage] yet. / The day I was ill was taken off my pay.
My colleagues have their wages, mine has not come.
My pay for the extra hours is missing. / Why did I earn less this month than {person}? / My wage has not come, the others got theirs.

travel | travel, trips, business travel, travel desk
flight, hotel, train ticket, visa, travel booking, rental car | was cancelled, has the wrong date, must be changed
trips of our people / flights, trains and hotels / getting somewhere and sleeping there
I need a hotel in {place} on {day}. / How do I get to the meeting in {place}, by plane or train? / Book me a trip to {place}. / My plane [was cancelled;leaves without me;is four hours late]. / I [missed;will miss] my train to {place}. / We are {n} people and have to be in {place} on {day}. / Do I need a visa for {place}? / I am at the hotel and they have no room for me. / Can I [fly;go] a day [later;earlier]? / The meeting in {place} was moved, please change my ticket. / Which way is cheaper to {place}, by car or by train? / I have to be in {place} for {n} nights.
I am stuck at the airport in {place}.
I need a plane or train for my trip to {place}. / My flight home was dropped, I sit in {place}. / Two nights in {place} please, near the station.

facilities | facilities, building, house services, caretakers
heating, elevator, window, toilet, light bulb, parking lot | leaks, makes a noise, is out of order
the house we work in / rooms, lights, doors and heating / keeping the building in order
It is too [cold;hot] in the office, the heating [is off;cannot be turned]. / Water [drips;runs] from the ceiling [on floor {n};over my desk]. / The light [in the hall;over my desk] is broken. / The lift is stuck [between two floors;with {person} inside]. / [The door;A window] on floor {n} [does not close;is jammed;squeaks]. / It smells [bad;of smoke] in the [stairs;hall]. / The [tap;sink] in the kitchen [drips;is blocked]. / My chair is [broken;too low], may I have another? / The alarm clock in the hall is wrong and the blinds are stuck. / Two people need a desk in {place}. / It is freezing in here. / The toilets on floor {n} are [blocked;out of paper].
There is a puddle under the sink on floor {n}.
The light and the heating in the hall are broken. / The lift stopped with two people inside. / Our window does not close and it is freezing.

security | security, safety and fraud, security office, information security
phishing mail, virus, stolen badge, suspicious link, data leak, malware | was reported, was found, needs an alarm
attacks, fraud and theft / anything suspicious / keeping strangers and viruses out
Somebody asked for my password by mail. / A stranger walked through the building. / I clicked on a strange link. / My [badge;bag;laptop] was stolen [on the train;in {place}]. / A mail [says;claims] it is from the boss and wants [gift cards;money]. / [Files;Pictures] were sent to people who should not see them. / Someone [is using;logged in with] my name, it was not me. / All my files have strange names and a note asks for money. / I found [an unknown stick;a strange device] on [my desk;the floor]. / Somebody [called;phoned] and wanted to know our secrets. / I think [we were hacked;somebody reads my mails]. / There is a man at the back door without a badge.
A note on my screen asks for money or my files stay locked.
A strange mail asked for my password, there was a link. / Somebody pretends to be {person} and writes to customers. / My bag with the badge was stolen.

legal | legal, lawyers, contracts, law
contract, court letter, privacy request, licence, trademark, terms of use | has to be signed, needs a lawyer, is disputed
contracts and courts / what the law says / agreements, claims and rights
A lawyer wrote to us. / Please check the contract before we sign. / They want to take us to court. / May we [use;print] [this picture;this name] [without asking;on our page]? / Are we allowed to [store;sell] [these data;this]? / A customer wants [to know;us to delete] what we know about him, [as the law says;it is his right]. / Another company uses our name. / Which [notice;agreement] do we need with [the new supplier;{person}]? / They say that we broke the [contract;agreement]. / Somebody must read these {n} pages before we sign. / Is this [rule;clause] [valid;legal] in {place}? / The court gave us until {day}.
Our neighbours threaten us with a court case.
Please check what the lawyer wrote before we sign. / Somebody else sells under our name, may they? / We got a letter from the court in {place}.

marketing | marketing, advertising, press and adverts, communication
newsletter, campaign, press release, logo, advert, trade fair | must be designed, needs new pictures, starts soon
how people get to know us / adverts, pictures and press / telling the world about our work
We need an advert for the fair. / Who writes the text of the newsletter? / The press wants pictures of the logo. / A [journalist;reporter] [wants to talk to us;called for an interview]. / Please put [this;our new video] on [the channels;our social pages]. / Can we [have;get] {n} [flyers;posters] for [the open day;{place}]? / We open a shop in {place}, how do we tell people? / Our slogan [sounds old;should be shorter]. / How many people saw our video? / I want a nice [poster;banner] for {day}. / Which colours may I use for our slides? / [A school;The radio] in {place} wants to write about us.
The paper in {place} would like to write about us.
We need pictures and a text for the newsletter. / A reporter from {place} wants an interview. / How do we make people notice our new shop?

database | database, data storage, databases, data
database, table, backup, slow query, index, replica | is corrupt, takes hours, is out of space
where our data are kept / tables, queries and backups / storing records and finding them again
The query runs for hours. / The table is locked and the backup failed. / We lost rows in the table. / The nightly [copy;backup] [stopped;did not run;is empty]. / A [column;table] [disappeared;is missing] [since {day};after the change]. / I deleted {n} rows by mistake, can you [restore them;bring them back]? / The same select takes [ten minutes;an hour] [since {day};today]. / Two [records;rows] have the same key. / The disk with the tables is [full;at {n} percent]. / Please add a column to the [orders;customers] table. / The second copy of the data is [behind;{n} minutes old]. / I need read access to the tables of {place}.
Somebody dropped the wrong table.
The backup of the table failed, rows are lost. / I removed rows by accident, please bring them back. / Our select needs an hour where it took a minute.

mobile | mobile, apps, phone app, mobile app
app, phone update, push message, app store, tablet, home screen | crashes, cannot be installed, shows a blank page
what runs on phones / the app and its updates / phones and tablets
The app closes itself on my phone. / I get no push messages on my phone. / The app cannot be found in the store. / Since the update [the app;it] [crashes;does not open] on my [phone;tablet]. / I [tap;press] the icon and the app [closes;freezes;stays white]. / My phone says that the app needs a newer version. / The app [drains my battery;makes my phone hot]. / Can I use [the app;it] on [an old phone;two phones]? / I do not hear the app when a message comes. / How do I move the app to my new phone? / The letters in the app are too small [for my phone;for me]. / On my tablet the app shows everything sideways.
My phone cannot install the app.
The app on my phone closes itself, no push messages. / After I tap the icon on my phone it stays white. / I have a new tablet and cannot get the app.

training | training, courses, learning, workshops
course, workshop, certificate, lesson, teacher, exam | is full, was postponed, needs a room
learning something new / courses for our people / lessons, exams and certificates
I want to learn more, are there courses? / When is the next exam? / Please put me on the list for the workshop. / Who can teach [us;my team] [to write better;Spanish;to use spreadsheets]? / I [passed;took part], where is my certificate? / Is there still a seat [on {day};in the class]? / I [cannot come to;have to miss] the lesson [on {day};this week]. / Our new people have to learn the basics. / What do I have to [know;read] before the exam? / The teacher [did not come;is ill]. / I failed the exam, may I try again? / Can {n} of us take part [in the class;on {day}]?
I would like to learn how to speak in front of people.
Are there courses before the next exam? / Who can teach {n} beginners? / I took part on {day} and need my certificate.

warehouse | warehouse, stock, storage hall, stock and storage
pallet, forklift, shelf, stock count, loading dock, inventory | is blocked, does not match, was damaged
goods on shelves / the hall where goods are kept / counting and moving stock
We counted too few pallets in stock. / The forklift does not move. / The goods do not fit on the shelf. / The list says {n} boxes, on the shelf are [fewer;two]. / A truck waits at [the dock;gate {n}] and nobody unloads it. / [A shelf;A pallet] [fell over;broke] in the hall. / Where do we put {n} more pallets? / We are [out of boxes;running out of room] in the hall. / The stock in the system and in the hall are [not the same;different]. / The lift truck lost oil between the shelves. / Which row are the heavy goods in? / Somebody stacked the pallets too high.
Gate {n} of the hall is blocked by pallets.
We counted too few goods in stock on the shelf. / A truck stands at gate {n} and nobody unloads it. / The list has more boxes than the hall.

catering | catering, canteen, food and drinks, kitchen
lunch, canteen, coffee machine, menu, vegan meal, kitchen | tastes bad, is sold out, must be ordered
what we eat and drink at work / meals for guests and staff / food, drinks and the canteen
The soup was cold at lunch. / Is there something vegan to eat? / We need coffee for {n} guests. / [There is no;We are out of] [milk;coffee;bread]. / {person} cannot eat nuts, [what can you cook;is that in the food]? / Please bring [water and fruit;sandwiches] to [our meeting;room {n}] [on {day};at noon]. / The [coffee;rice] tastes [burnt;strange]. / What is for lunch [on {day};today]? / I found a hair in my [soup;salad]. / Can we have a cake for the birthday of {person}? / The queue at lunch is too long. / {n} of us would like to eat at one o'clock.
We are {n} at lunch on {day}, two eat no meat.
Is there something vegan for lunch for {n} guests? / My salad tasted strange today. / Cake and tea for {n}, please, on {day}.

sales | sales, new customers, offers, selling
quote, demo, discount, price list, trial version, upgrade | is wanted for {n} people, should be sent to us, interests our company
people who want to buy / offers and prices for new customers / what it would cost
What [does it;would it] cost for {n} people? / We want to buy more seats. / Could somebody show us the product? / Is there a discount for schools? / We are [looking for;comparing] a tool for {n} people, [what do you offer;can you do that]? / Can we try it [first;before we buy]? / I saw you at the fair and would like an offer. / Do you have something [bigger;for larger companies]? / How much is the [large;yearly] plan? / We think about [changing to you;becoming a customer]. / Is it cheaper if we take {n}? / Please call me, I want to order for my company.
Our school thinks about buying it for {n} classes.
We want to buy it for {n} people, is there a discount? / May we try it before we decide to buy? / Make us an offer for {n} seats.

support | software support, web, website, user support
error message, help page, settings page, export button, search box, dashboard | shows an error, does nothing, loads for ever
faults on our pages / people who have trouble with the website / buttons, pages and settings
The page shows an error when I save. / How do I change my settings? / The button does nothing. / The website does not work. / When I [click;press] save [nothing happens;I see an error]. / My [changes;entries] are gone after I [saved;pressed save]. / The [list;page] on your site stays [empty;white]. / Where [is;do I find] the [export;search] on the new page? / I [see;get] error {n} on your site. / The site shows [yesterday's numbers;the wrong language]. / I cannot upload [a file;my picture] on your page. / The menu on the site [covers the text;does not open].
Your page says that something went wrong.
The page shows an error, the button does nothing. / I press save and my entries are gone. / Error {n} comes up wherever I click on the site.

waste | waste, rubbish, bins and recycling, waste collection
rubbish bin, recycling box, glass container, garbage truck, bulky waste, compost | was not emptied, is overflowing, smells bad
what people throw away / bins and their collection / rubbish and recycling
Nobody emptied our bins [on {day};this week]. / The bin is [full;overflowing]. / Somebody dumped [old tyres;a sofa;bags] [at the corner;in the woods]. / When do you collect [old paper;glass;the rubbish]? / Where can I throw away [paint;batteries;an old fridge]? / We need a bigger bin. / The truck [forgot our street;spilled everything on the road]. / Rats come to the bags in the yard. / Which box does plastic go into? / My bin was [stolen;broken by the truck]. / I have an old sofa to throw away. / There is rubbish all over {place}.
The bags have been lying in our yard since {day}.
The bins in our street were not emptied. / How do I get rid of an old fridge? / Bags of rubbish lie all over the yard.

roads | roads, streets, streets and traffic, road works
pothole, traffic light, street lamp, road sign, bicycle lane, zebra crossing | is broken, is dangerous, was damaged
streets and what stands on them / holes, signs and lamps in the streets / safe ways for cars and bicycles
There is a deep hole in [our street;the road to {place}]. / The lights at the crossing [are always red;do not change;are dark]. / A tree fell across the road. / Our street [is dark at night;has no lamp that works]. / Cars drive too fast past the school. / The sign at the corner [is bent;fell down]. / I [fell off my bicycle;broke a wheel] because of a hole in the lane. / Nobody cleared the snow from the road. / When does the road to {place} open again? / The white lines can hardly be seen at the crossing. / A car has blocked the bicycle lane for {n} days. / The pavement is broken, my mother fell.
The lamp in front of our house has been dark since {day}.
A big hole in our street, cars drive around it. / The lights at the corner stay red. / It is too dark on the road to {place} at night.

water | water, water works, water supply, pipes
tap water, water meter, drain, burst pipe, water pressure, sewer | is brown, is leaking, was turned off
what comes out of the tap / pipes, drains and meters / drinking water for every house
The water from my tap is [brown;cloudy;warm]. / There is no water in [our house;the whole street]. / A pipe burst [under the road;in front of our house]. / The shower has hardly any pressure [since {day};on floor {n}]. / Water shoots out of the ground in {place}. / The drain in the yard [is blocked;comes up when it rains]. / Who reads the meter in the cellar? / May I drink what comes out of the tap? / The tap water [tastes of metal;smells strange]. / When will the water be back on? / My cellar is flooded from the sewer. / You turned off our water without telling us.
Only a few drops come from the tap since {day}.
What comes out of our tap is brown. / The whole street has had no water since {day}. / There is a leak under the road in front of us.

parks | parks, gardens, trees and parks, green spaces
playground, lawn, flower bed, park bench, fountain, hedge | is overgrown, was vandalised, needs care
green places in town / trees, lawns and playgrounds / gardeners of the town
The swing on the playground is [broken;torn]. / The grass in the park is [too high;dry]. / A branch [hangs loose;might fall] over the [path;benches]. / Somebody [broke;painted on] the bench by the pond. / When do you cut the hedge [at the corner;of the park]? / Who waters the flowers in {place}? / Dogs run on the playground. / The old tree in front of the school is [dying;leaning]. / May we hold a picnic in the park for {n} people? / There is glass in the sand where children play. / The ducks in the pond look ill. / We would like to plant trees with {n} children.
The slide on the playground has a sharp edge.
A swing is broken where the children play. / Please cut the grass and the hedge. / The old tree by the pond leans over the benches.

library | library, books, lending desk, reading room
library card, borrowed book, reading room, late fee, audio book, reservation | has expired, cannot be found, is overdue
books to borrow / readers and their cards / the reading room and lending
I would like to keep the [book;novel] {n} days longer. / Do you have [something about birds;books for children;novels by {person}]? / I lost a book that I borrowed. / May I bring the books back on {day}? / Is it quiet enough to read there? / The book I brought back is still on my list. / How many books may I take home? / Somebody tore pages out of this book. / I read the first part, when will the second be back? / I cannot find the book on your shelves. / My daughter wants her own card for books. / Do I have to pay because I brought the book back late?
The novel I want is always out.
May I keep the book a little longer? / I lost what I borrowed to read. / Which novels do you have for young readers?

housekeeping | housekeeping, room cleaning, cleaning, rooms and linen
towel, bed sheet, guest room, pillow, carpet stain, laundry | is dirty, is missing, must be changed
clean rooms for guests / beds, towels and laundry / making rooms ready
We have no [fresh towels;clean towels] in room {n}. / Nobody made my bed [today;on {day}]. / There is [hair;sand] in the shower of room {n}. / May I have [another;one more] [pillow;blanket]? / The sheets [have a stain;smell of smoke]. / Please clean my room [after ten;while we are out]. / I spilled red wine on the carpet of my room. / Room {n} is not ready and the guests are here. / My shirt did not come back from the laundry. / The room is dusty under the bed. / Please do not clean room {n} before noon, we sleep long. / We need a bed for a baby in room {n}.
Room {n} has sand on the floor and used towels.
The bed in room {n} was not made. / Could we get two more pillows and fresh towels? / My room has not been cleaned since {day}.

lost | lost property, lost and found, found things
lost umbrella, forgotten bag, found wallet, missing key, left coat, lost ring | was left on a seat, was handed in, may be with you
things people left behind / whatever was lost or found / umbrellas, bags and keys without an owner
I left my [umbrella;coat;bag] on [the bus;a seat;line {n}]. / Did anybody find [a black wallet;my glasses;a ring]? / I found a [purse;key] [on the floor;near the door]. / My son forgot his [jacket;teddy] [in the hall;on {day}]. / I cannot find my keys, I had them when I came in. / Somebody handed me a phone that is not mine. / Has a blue scarf turned up? / I must have dropped my ring [in {place};by the stairs]. / Here is a bag without an owner. / Where can I ask for something I forgot? / Are my gloves still there? I sat by the window. / One earring is missing since my visit.
I think that I forgot my hat with you on {day}.
Was a black wallet handed in? / My umbrella stayed on a seat of line {n}. / I picked up a key by the stairs, whose is it?

insurance | insurance, claims, insurance claims, cover
insurance claim, policy number, accident report, broken leg, water damage, insured car | was not covered, has to be assessed, was rejected
damage and who pays for it / accidents and claims / what is covered
Somebody hit my car [at the lights;while it was parked]. / I had an accident [on {day};near {place}]. / Hail broke my [roof;windows], who pays for it? / Am I covered [abroad;when I ski]? / A storm took [tiles off our roof;our fence]. / My bicycle was stolen, does my cover pay? / I broke my arm, what do I have to send you? / The fire damaged [two rooms;our kitchen]. / When does somebody come to look at the damage? / My son broke the neighbour's window. / You paid only half of the damage. / We bought a car and want cover for it.
A tree fell on my car, am I covered?
Hail and storm damaged our roof, do you pay? / Another car drove into mine near {place}. / Does my cover pay for a broken arm?

pharmacy | pharmacy, medicine, drugs and prescriptions
prescription, pills, cough syrup, ointment, vaccine, side effect | is out of stock, makes me dizzy, must be renewed
medicine and how to take it / pills, syrups and prescriptions / what the doctor prescribed
How many of the pills may I take [a day;at once]? / Do you have something for a [cough;headache;sunburn]? / I take [two drugs;heart pills], may I take both? / My doctor [wrote me;sent] a prescription, is it ready? / The pills make me [sleepy;dizzy]. / Should I take it before or after a meal? / My child [swallowed;took] two tablets too many. / I need more of my drops [by {day};for my eyes]. / May I take it while I am pregnant? / The syrup must be kept cold, mine got warm. / Is there a cheaper drug with the same effect? / I forgot to take my pills on {day}.
Which drops help against a cold?
What can I take for my cough? / I feel dizzy since I take these pills. / Is what my doctor prescribed ready?

energy | energy, electricity, power supply, power and gas
power cut, electricity meter, gas smell, solar panel, fuse box, power line | was reported, is not working, needs a check
electricity and gas / power for houses / meters, lines and cuts
The power is out [in our street;since {day};in {place}]. / We have no electricity [in the house;on floor {n}]. / It smells of gas [in the cellar;in front of our house]. / A line hangs down [over the road;between two poles]. / The meter runs though we are away. / How do I send you the numbers of my meter? / The lamps flicker [every evening;all over the house]. / I want to put solar panels on my roof. / When will the power be back? / The fuse blows whenever I cook. / I move to {place}, how do I get electricity there? / We use {n} percent more power than last year, why?
All lamps in our street went out at once.
There is no electricity in the whole street. / I smell gas in our cellar. / What do I do to get power in my new flat?

fleet | fleet, company cars, vehicles, car pool
company car, winter tyres, oil change, fuel card, dent, van key | needs a check, is overdue, was scratched
the cars we drive for work / vans, tyres and fuel / vehicles of the company
The company van [does not start;lost oil;pulls to the left]. / I have a flat tyre near {place}. / A red lamp is on in the [car;van] I drive for work. / When do I get winter tyres? / I need a van for {n} boxes on {day}. / The fuel card was refused at the pump. / There is a new scratch on the company car. / The brakes of our van squeak. / {person} has the key of the small car, who has the second? / My company car is due for its check. / The wipers of the van are torn. / I drove {n} kilometres, where do I write them down?
The engine of our van makes an odd noise.
The van we drive for work does not start. / My company car has a flat tyre in {place}. / Who changes the oil of the small van?

events | events, event planning, celebrations, event office
summer party, stage, guest list, speaker, ticket sale, conference hall | must be planned, is sold out, was moved to {day}
parties and conferences / planning what we celebrate / halls, stages and guest lists
We want to [celebrate;hold a party] with {n} people. / Who [speaks;is on stage] on {day}? / Can you add {person} to the guest list? / Where do the {n} guests sit? / The band for {day} cannot play. / We need [a stage;music;a tent] for the summer party. / How do we get tickets for the concert? / What happens if it rains on the day of the party? / I would like to give a talk at your conference. / We are {n} more guests than planned. / Who welcomes the guests at the door on {day}? / Is there a dress code for the gala?
Our team would like to celebrate {n} years.
A party for {n} people, can you plan it? / The speaker of {day} fell ill, who goes on stage? / Please put two more on the guest list.

translation | translation, languages, translators, language services
manual in Spanish, interpreter, German text, subtitles, translated page, glossary | is needed by {day}, has mistakes, sounds odd
texts in other languages / interpreters and translators / saying it in another language
We need this text in [French;Spanish;Chinese]. / Who speaks [Thai;Polish;Turkish] here? / A guest from abroad does not understand us. / The [German;Italian] version [sounds odd;has mistakes]. / Can someone put {n} pages into English? / I got a letter in a language that I cannot read. / We have visitors on {day} and nobody speaks their language. / What does this sign mean in English? / The subtitles of the film are [wrong;missing] in Spanish. / Is it the same word in both languages? / Our manual exists only in English, customers in {place} want their own language. / Please have a native speaker read this.
I cannot read this letter, it is in Portuguese.
Could somebody put this into French? / None of us speaks the language of our guests. / The Spanish version of the text sounds odd.

health | occupational health, company doctor, health, first aid
sick note, back pain, eye test, flu shot, first aid box, allergy | needs a doctor, was handed in late, gets worse
feeling well at work / the doctor and first aid / illness and injuries of our people
I am ill and cannot come to work [today;until {day}]. / My back hurts from [sitting;lifting]. / {person} [fainted;cut a finger;fell] [in the hall;at work]. / Where do I hand in my sick note? / I cannot see the small letters any more. / I have a fever since {day}. / Who gives us flu shots? / The box with the bandages is empty. / My wrist hurts when I type. / I am expecting a baby, which work may I still do? / I cannot sleep because of all the stress. / How long may I stay at home with a cold?
My eyes hurt after a day of work.
I have a fever and stay at home. / Somebody cut a finger, where are the bandages? / My back hurts more every day.
"""


@dataclass(frozen=True)
class Team:
    """names: short ones. topics and problems: of a ticket in a frame. purposes: what it is for. sayings: of its customers."""

    names: tuple[str, ...]
    topics: tuple[str, ...]
    problems: tuple[str, ...]
    purposes: tuple[str, ...]
    sayings: Wordings


def _team(block: str) -> tuple[str, Team]:
    first, second, purposes, train, calibration, held_out = block.split("\n")
    key, names = first.split(" | ")
    topics, problems = second.split(" | ")
    sayings = wordings(train, calibration, held_out, " / ")
    return key, Team(_listed(names), _listed(topics), _listed(problems), tuple(purposes.split(" / ")), sayings)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split(", "))


TEAMS = dict(_team(block) for block in TABLE.strip().split("\n\n"))
