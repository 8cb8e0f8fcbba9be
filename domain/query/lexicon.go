package query

// This file lists the words that the compiler reads. They are in lower case; an underscore
// stands for a space in a phrase.

var numbers = map[string]int{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
	"sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40,
	"fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100, "thousand": 1000,
	"single": 1, "dozen": 12,
}

// comparators come before a number.
var comparators = table(`
	gte: at_least no_fewer_than no_less_than not_fewer_than not_less_than a_minimum_of minimum_of minimum as_many_as atleast >_= ≥
	lte: at_most no_more_than not_more_than up_to a_maximum_of maximum_of maximum atmost <_= ≤
	gt: more_than over greater_than above in_excess_of upwards_of larger_than bigger_than higher_than >
	lt: fewer_than less_than under below smaller_than lower_than <
	eq: exactly precisely just only equal_to =
`)

// trailingComparators come after a number: "two or more".
var trailingComparators = table(`
	gte: or_more or_above plus or_over and_more at_least at_minimum
	lte: or_fewer or_less or_below at_most at_maximum
	eq: exactly only
`)

// vagueQuantities map words for an unknown number to the smallest number that they allow.
var vagueQuantities = map[string]int{
	"several": 3, "multiple": 2, "a couple of": 2, "a couple": 2, "a pair of": 2, "a few": 3, "numerous": 3, "a group of": 3,
	"a herd of": 3, "a flock of": 3, "a crowd of": 3, "a row of": 3, "a pack of": 3,
	"more than a": 2, "plural": 2,
}

var determiners = set(`a an the this that these those any some his her their its your
	both either such certain different_kinds_of kind_of sort_of of`)

// identityWords ask about the identity of a subject. No model knows who owns a dog.
var identityWords = set("my our mine same famous named called specific")

// exhaustiveWords ask about a whole recording, not about the objects visible at one time.
var exhaustiveWords = set("different unique distinct individual separate")

var auxiliaries = set(`is are was were be been being am does do did has have had can could will would should may might
	must 're 'm`)

// bareVerbAuxiliaries take a bare verb: "does the dog run".
var bareVerbAuxiliaries = set("does do did can could will would should may might must")

var relativePronouns = set("that which who where while when whose")

var conjunctions = map[string]Operator{
	"and": All, "or": Any, "nor": Any, "but": All, ",": All, "as well as": All, "along with": All,
	"together with": All, "plus": All, "and also": All, "and/or": Any, "&": All,
}

var mediaNouns = set(`video videos clip clips footage scene frame frames image picture recording shot film movie screen view
	camera file sequence stream feed sight it background_footage`)

// scenes are words for a setting. A definite one is the scene of the video: "in the room".
var scenes = set(`room classroom kitchen office park street road highway yard backyard garden field beach hallway bedroom
	bathroom living_room dining_room parking_lot warehouse store shop restaurant gym factory
	corridor lobby area place path trail playground forest woods`)

var mediaModifiers = set("whole entire uploaded given attached provided same video camera full")

var mediaVerbs = set(`contain contains containing show shows showing include includes including have has having feature got
	features featuring depict depicts depicting display displays`)

// seeingVerbs ask for presence: "can you see a dog".
var seeingVerbs = set(`see spot find detect notice observe locate recognize recognise identify look_for search_for show
	show_me get make_out point_out seen find_all find_any detect_all detect_any locate_all show_all spot_any check_for scan_for hunt_for find_me seeing watch_for look_out_for find_out_about`)

// noisePhrases are dropped at every position: the question means the same without them.
var noisePhrases = phrases(`visible shown seen visibly anywhere somewhere currently ever actually really clearly definitely
	maybe perhaps possibly probably please today also too here appear appears appearing appeared occur occurs exist exists existing
	at_all at_any_point at_any_time at_some_point at_any_moment at_some_time right_now at_the_moment at_one_time
	at_the_same_time at_once at_any_one_time simultaneously together at_the_same_moment show_up shows_up showing_up showed_up be_found be_seen found
	come_into_view comes_into_view thanks thank_you in_total altogether depicted featured detected detectable
	observable pictured on_display to_be_seen to_see at_a_time overall in_all total combined by_any_chance or_not
	yes_or_no yes/no true_or_false on_camera clearly_visible happen_to happens_to for_me same_frame same_image same_shot same_picture in_sight in_view within_view in_shot if_possible if_you_can`)

// politeLeads are words of politeness and other words that are dropped at the front.
var politeLeads = phrases(`hey hi hello ok okay so well um uh excuse_me just now then please
	can_you could_you would_you will_you can_we can_i could_we could_i can_one would_you_mind
	i_want_to_know i_would_like_to_know i_need_to_know i_wonder i_am_wondering wondering i_want_to_find_out
	i_want_you_to i_need_you_to i_would_like_you_to i_am_curious i_would_love_to_know i_am_trying_to_find_out
	tell_me telling_me tell let_me_know do_you_know do_you_think check determine verify confirm find_out figure_out
	answer_yes_or_no answer_with_yes_or_no yes_or_no answer say see look analyze_the_video_and analyze_this_video_and watch_the_video_and look_at_the_video_and
	is_it_true is_it_the_case is_it_correct is_it_possible does_it_look_like does_it_seem would_you_say would_n't_you_say am_i_right_that am_i_right is_it_safe_to_say is_it_fair_to_say can_it_be could_it_be
	question my_question_is quick_question the_question_is i_have_a_question detect
	in_this_video in_the_video in_this_clip in_the_clip in_the_footage in_this_footage at_any_point at_any_time
	in_this_scene in_the_scene in_that_video by_any_chance if whether that , kindly hey_there dear_assistant dear_sir good_morning
	good_afternoon good_day good_evening hello_there hi_there be_so_kind_as_to do_me_a_favor_and help_me i_think i_believe i_suppose we_want_to_know confirm_the_presence_of detect_the_presence_of check_the_presence_of
	check_for_the_presence_of verify_the_presence_of i_just_want_to_know i_just_wanted_to_know
	i_wanted_to_know i_was_wondering i_am_asking we_need_to_know we_would_like_to_know i_am_interested_in_knowing
	would_it_be_possible_to is_it_possible_to are_you_able_to can_you_please could_you_please
	would_you_be_able_to would_you_kindly mind_telling_me do_you_mind_telling_me would_you_mind_telling_me would_you_mind_checking do_you_mind_checking
	from_the_video based_on_the_video according_to_the_video looking_at_the_video from_what_you_see as_far_as_you_can_see
	judging_from_the_video for_this_video in_your_opinion true_or_false is_it_so
	i_would_like_to_ask can_i_ask may_i_ask let_me_ask anyway also listen look_and_see have_a_look_and_see
	report inform_me assess establish make_sure double_check i_would_like_to_check i_would_like_to_see examine_the_video_and
	scan_the_video_and go_through_the_video_and inspect_the_video_and i_want_know i_want_to_see to_tell_me have_a_look_and take_a_look_and`)

// emptySentences are whole sentences without a question.
var emptySentences = phrases(`thanks thank_you thank_you_very_much thanks_a_lot thanks_in_advance many_thanks cheers please yes_or_no
	true_or_false look_at_the_video look_at_this_video watch_the_video watch_this_video watch_the_video_carefully
	look_carefully look_closely here_is_a_video here_is_the_video here_is_my_video i_uploaded_a_video i_have_a_question
	i_have_a_question_about_this_video i_have_a_question_about_the_video quick_question quick_one i_have_a_quick_one i_have_a_quick_question just_curious i_am_just_curious
	take_a_look analyze_this_video analyze_the_video analyse_this_video analyse_the_video check_the_video hello hi hey
	good_morning good_afternoon good_day good_evening hello_there hi_there answer_yes_or_no answer_with_yes_or_no please_answer_yes_or_no
	just_answer_yes_or_no answer_with_a_number just_give_me_a_number just_the_number reply_with_yes_or_no
	this_is_urgent it_is_urgent answer_only_with_yes_or_no answer_only_yes_or_no only_answer_yes_or_no just_say_yes_or_no
	class object label target
	i_need_to_know let_me_know please_let_me_know yes_or_no_please correct is_that_right is_that_correct am_i_right`)

// guardedLeads are dropped only when one of clauseStarters follows: "see if", but not "see a
// dog".
var guardedLeads = set("see check detect look verify confirm determine say find_out tell answer report assess establish make_sure double_check")

var clauseStarters = set("if whether that there how")

var actionForms = table(`
	tripping: trip trips tripped
	slipping: slip slips slipped
	disappearing: disappear disappears disappeared vanish vanishes vanished vanishing
	rolling: roll rolls rolled
	bouncing: bounce bounces bounced
	sliding: slide slides slid
	wagging: wag wags wagged
	licking: lick licks licked
	chewing: chew chews chewed
	crawling: crawl crawls crawled
	approaching: approach approaches approached
	landing: land lands landed
	washing: wash washes washed
	cutting: cut cuts
	running: run runs ran jog jogs jogging jogged sprint sprints sprinting sprinted
	walking: walk walks walked stroll strolls strolling strolled
	jumping: jump jumps jumped leap leaps leaping hop hops hopping
	sitting: sit sits sat seated
	standing: stand stands stood
	lying: lie lies laying lay reclining
	falling: fall falls fell fallen tumbling collapse collapses collapsing
	raising: raise raises raised lift lifts lifting
	waving: wave waves waved
	riding: ride rides rode ridden
	driving: drive drives drove
	eating: eat eats ate
	drinking: drink drinks drank
	playing: play plays played
	throwing: throw throws threw
	catching: catch catches caught
	kicking: kick kicks kicked
	dancing: dance dances danced
	swimming: swim swims swam
	climbing: climb climbs climbed
	crossing: cross crosses crossed
	folding: fold folds
	putting: put puts
	using: use uses used
	watching: watch watches watched
	going: go goes went
	coming: come comes came
	following: follow follows followed
	getting: get gets got
	moving: move moves moved
	holding: hold holds held
	carrying: carry carries carried
	sleeping: sleep sleeps slept
	talking: talk talks talked speak speaks speaking
	smiling: smile smiles smiled
	laughing: laugh laughs laughed
	crying: cry cries cried
	fighting: fight fights fought
	hugging: hug hugs hugged
	kissing: kiss kisses kissed
	pointing: point points pointed
	clapping: clap claps clapped
	entering: enter enters entered
	leaving: leave leaves exit exits exited exiting
	turning: turn turns turned
	stopping: stop stops stopped
	flying: fly flies flew
	juggling: juggle juggles juggled
	opening: opens
	closing: closes
	pushing: push pushes pushed
	pulling: pull pulls pulled
	cooking: cook cooks cooked
	reading: read reads
	writing: write writes wrote
	typing: type types typed
	working: work works worked
	looking: look looks looked
	bending: bend bends bent
	crouching: crouch crouches crouched squat squats squatting
	kneeling: kneel kneels knelt
	chasing: chase chases chased
	fetching: fetch fetches
	picking: pick picks picked
	dropping: drop drops dropped
	hitting: hit hits
	crashing: crash crashes crashed
	shaking: shake shakes shook
	wearing: wear wears wore worn
	pouring: pour pours poured
	spinning: spin spins spun
	swinging: swing swings swung
	stretching: stretch stretches
	touching: touch touches touched
	nodding: nod nods nodded
	leaning: lean leans leaned
	stealing: steal steals stole
	arriving: arrive arrives arrived
	passing: pass passes passed
	grazing: graze grazes
	barking: bark barks barked
	meowing: meow meows
	singing: sing sings sang
	shouting: shout shouts shouted yell yells yelling
	screaming: scream screams screamed
	honking: honk honks
	happening: happen happens happened
`)

// ingNouns are nouns that end like a participle.
var ingNouns = set(`building ceiling painting ring king string thing morning evening wing clothing railing awning
	spring lightning duckling wedding pudding earring drawing sibling sapling bling sling something anything nothing
	everything being dumpling`)

var audioWords = set(`barking meowing honking beeping ringing sound sounds noise noises music audio voice voices loud quiet
	silent shouting screaming hear heard sing singing siren_sound noisy audible song yelling whistling talking_about
	saying thunder_sound meow bark`)

// speechVerbs are actions of people that only a microphone records.
var speechVerbs = set("talk talks talked talking speak speaks speaking say says said saying")

var textWords = set("say says read reads saying written text caption captions subtitle subtitles spell spells word words lettering")

var subjectiveWords = set(`beautiful ugly nice good bad cute dangerous suspicious interesting funny boring attractive scary
	safe friendly professional weird pretty handsome best worst happy sad angry tired bored excited lovely awesome great
	amazing cool strange creepy expensive cheap delicious tasty evil kind_looking nervous scared afraid upset annoyed
	confused relaxed stylish impressive adorable gorgeous elegant rude lonely worried proud guilty lazy smart`)

var attributeWords = set(`big small large tall short tiny huge little giant enormous massive gigantic long wide narrow thick thin fat old young new
	wooden metal plastic glass striped spotted plain checkered fluffy furry hairy bald bearded blonde blond round square
	rectangular wet dry dirty clean broken naked shiny transparent ripe rotten rusty electric toy stuffed male female
	elderly pregnant leather paper ceramic bare curly spotty patterned floral`)

var stateWords = table(`
	open: open
	closed: closed shut
	empty: empty vacant unoccupied
	full: full filled
	on: on lit turned_on switched_on lit_up
	off: off unlit turned_off switched_off
	locked: locked
	unlocked: unlocked
	parked: parked
	still: still stopped halted stationary motionless unmoving
	asleep: asleep
	awake: awake
	burning: burning on_fire
	upside down: upside_down
	dark: dark
	bright: bright
	crowded: crowded
	alone: alone
	folded: folded
	unfolded: unfolded
	inflated: inflated
	occupied: occupied
	melted: melted
	frozen: frozen
`)

var statePhrases = phrasesOf(stateWords)

var absentPhrases = phrases("absent missing gone out_of_frame out_of_view out_of_sight out_of_the_frame nowhere not_there invisible lacking")

// clothing holds things that people wear. bodyFeatures are parts of a body. Both describe their
// subject and do not name a second one.
var clothing = set(`shirt t-shirt dress jacket coat hat cap helmet glasses sunglasses jeans trousers shorts skirt shoe boot
	sneaker sandal sock glove scarf sweater hoodie uniform suit vest mask tie apron robe clothes clothing outfit costume
	headphones collar leash bikini swimsuit raincoat blouse belt watch`)

var bodyFeatures = set(`beard mustache moustache hair tail leg arm hand eye head face ear nose paw fur horn wing stripe spot
	ponytail tattoo feather`)
