package query

// COCO is the vocabulary of models trained on the 80 classes of COCO, with everyday words for
// them. "car" also means the class truck: from many angles a model confuses the two
// ([Vocabulary.Confused]).
func COCO() Vocabulary { return coco }

var coco = newVocabulary(cocoClasses)

var cocoClasses = []string{
	"person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "traffic light",
	"fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat", "dog", "horse", "sheep", "cow",
	"elephant", "bear", "zebra", "giraffe", "backpack", "umbrella", "handbag", "tie", "suitcase", "frisbee",
	"skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard", "surfboard", "tennis racket", "bottle",
	"wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple", "sandwich", "orange",
	"broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair", "couch", "potted plant", "bed",
	"dining table", "toilet", "tv", "laptop", "mouse", "remote", "keyboard", "cell phone", "microwave", "oven",
	"toaster", "sink", "refrigerator", "book", "clock", "vase", "scissors", "teddy bear", "hair drier", "toothbrush",
}

// cocoSynonyms are words for every instance of a class. A word for only some instances
// ("puppy") is in cocoNarrower.
var cocoSynonyms = expand(map[string]string{
	"person":         "human someone individual human_being",
	"bicycle":        "bike cycle pushbike push_bike",
	"motorcycle":     "motorbike motor_bike motor_cycle",
	"airplane":       "plane aeroplane",
	"car,truck":      "car automobile auto motorcar",
	"truck":          "lorry",
	"train":          "railway_train",
	"boat":           "vessel",
	"traffic light":  "stoplight traffic_signal stop_light",
	"fire hydrant":   "hydrant fire_plug fireplug",
	"cat":            "kitty pussycat",
	"dog":            "doggy doggie",
	"cow":            "cattle",
	"backpack":       "rucksack knapsack",
	"handbag":        "purse hand_bag",
	"tie":            "necktie neck_tie",
	"suitcase":       "suit_case",
	"frisbee":        "flying_disc",
	"skis":           "ski",
	"snowboard":      "snow_board",
	"sports ball":    "ball sport_ball",
	"baseball glove": "baseball_mitt",
	"skateboard":     "skate_board",
	"surfboard":      "surf_board",
	"tennis racket":  "racket racquet tennis_racquet",
	"wine glass":     "wineglass",
	"hot dog":        "hotdog",
	"donut":          "doughnut",
	"couch":          "sofa settee",
	"potted plant":   "houseplant house_plant pot_plant pottedplant",
	"dining table":   "diningtable",
	"toilet":         "toilet_bowl",
	"tv":             "television television_set tv_set telly tvmonitor tv_monitor tv_screen",
	"laptop":         "laptop_computer notebook_computer",
	"mouse":          "computer_mouse",
	"remote":         "remote_control tv_remote",
	"keyboard":       "computer_keyboard",
	"cell phone":     "phone cellphone mobile mobile_phone smartphone smart_phone telephone",
	"microwave":      "microwave_oven",
	"oven":           "stove cooker",
	"refrigerator":   "fridge",
	"teddy bear":     "teddy teddybear",
	"hair drier":     "hairdryer hair_dryer hairdrier blow_dryer",
	"scissors":       "scissor",
	"toothbrush":     "tooth_brush",
})

// cocoNarrower are words for some instances of a class: by age, sex, breed, make or use. Roles
// are among them, and those in the table roles get an action from the compiler as well. Some
// things are detected as one of several classes. All of them are listed, because an answer no
// requires that none of them is seen. A role whose bearer is hidden (driver, pilot) is not a
// word of the model.
var cocoNarrower = expand(map[string]string{
	"person": "man woman child kid boy girl adult baby toddler teenager guy lady gentleman infant " +
		"bystander player worker policeman policewoman police_officer soldier doctor nurse " +
		"firefighter waiter waitress teacher student rider biker surfer swimmer dancer " +
		"singer musician tourist customer shopper crowd tennis_player football_player soccer_player " +
		"basketball_player baseball_player",
	"motorcycle":    "moped",
	"airplane":      "jet airliner jetliner fighter_jet",
	"car,truck":     "sedan taxi cab suv convertible sports_car race_car police_car jeep limousine pickup pickup_truck",
	"car,truck,bus": "van minivan minibus ambulance",
	"truck,bus":     "fire_truck fire_engine garbage_truck dump_truck tow_truck delivery_truck",
	"bus":           "school_bus double_decker",
	"train":         "locomotive freight_train steam_train",
	"train,bus":     "tram streetcar",
	"boat": "ship sailboat sailing_boat rowboat rowing_boat motorboat motor_boat speedboat yacht ferry canoe kayak " +
		"fishing_boat",
	"bird":        "duck pigeon seagull eagle owl crow swan parrot goose",
	"cat":         "kitten",
	"dog":         "puppy pup german_shepherd golden_retriever labrador poodle bulldog chihuahua dachshund beagle",
	"horse":       "pony foal",
	"sheep":       "lamb",
	"cow":         "calf bull ox",
	"bear":        "polar_bear grizzly_bear",
	"umbrella":    "parasol",
	"tie":         "bow_tie bowtie",
	"sports ball": "football soccer_ball basketball tennis_ball baseball volleyball golf_ball beach_ball rugby_ball",
	"bottle":      "water_bottle plastic_bottle wine_bottle beer_bottle glass_bottle",
	"cup":         "mug teacup coffee_cup tea_cup coffee_mug paper_cup",
	"tv":          "monitor computer_monitor",
	"cell phone":  "iphone",
	"wine glass":  "glass_of_wine",
	"cake":        "birthday_cake",
	"clock":       "wall_clock alarm_clock",
})

// cocoCollective are words that also cover things without a class.
var cocoCollective = expand(map[string]string{
	"car,truck,bus,motorcycle": "vehicle motor_vehicle",
	"airplane":                 "aircraft",
	"bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe": "animal",
	"cat,dog":                            "pet",
	"backpack,handbag,suitcase":          "bag",
	"suitcase":                           "luggage",
	"chair,couch,bed,dining table,bench": "furniture",
	"banana,apple,orange":                "fruit",
	"broccoli,carrot":                    "vegetable",
	"banana,apple,sandwich,orange,broccoli,carrot,hot dog,pizza,donut,cake": "food",
	"cup,wine glass":    "glass drinking_glass",
	"potted plant":      "plant",
	"chair,bench,couch": "seat",
	"laptop":            "computer",
	"dining table":      "table",
	"fork,knife,spoon":  "cutlery silverware utensil",
})

// portions are words for a part of a thing: "a slice of pizza".
var portions = set("slice piece")
