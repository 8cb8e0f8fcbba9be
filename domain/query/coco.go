package query

// COCO is the vocabulary of models trained on the 80 classes of COCO, with everyday
// words for them. A car is a car or a truck: from most angles the classes are told
// apart poorly, and people call both a car.
func COCO() Vocabulary { return coco }

var coco = newVocabulary(cocoClasses, cocoSynonyms, cocoCollective)

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

var cocoSynonyms = expand(map[string]string{
	"person": "man woman child kid boy girl human pedestrian someone adult baby toddler teenager " +
		"guy lady gentleman individual passerby bystander human_being",
	"bicycle":        "bike cycle pushbike push_bike",
	"motorcycle":     "motorbike motor_bike motor_cycle moped scooter",
	"airplane":       "plane aeroplane aircraft jet airliner jetliner",
	"car,truck":      "car automobile auto sedan motorcar",
	"truck":          "lorry pickup pickup_truck",
	"bus":            "coach minibus school_bus double_decker",
	"train":          "locomotive railway_train",
	"boat":           "ship vessel sailboat sailing_boat rowboat rowing_boat motorboat motor_boat yacht ferry canoe kayak",
	"traffic light":  "stoplight traffic_signal stop_light",
	"fire hydrant":   "hydrant fire_plug fireplug",
	"cat":            "kitten kitty pussycat",
	"dog":            "puppy doggy doggie pup",
	"horse":          "pony foal",
	"sheep":          "lamb",
	"cow":            "cattle calf bull ox",
	"backpack":       "rucksack knapsack",
	"umbrella":       "parasol",
	"handbag":        "purse hand_bag",
	"tie":            "necktie neck_tie",
	"suitcase":       "luggage suit_case",
	"frisbee":        "flying_disc",
	"skis":           "ski",
	"snowboard":      "snow_board",
	"sports ball":    "ball football soccer_ball basketball tennis_ball baseball volleyball sport_ball",
	"baseball glove": "baseball_mitt",
	"skateboard":     "skate_board",
	"surfboard":      "surf_board",
	"tennis racket":  "racket racquet tennis_racquet",
	"bottle":         "water_bottle plastic_bottle",
	"wine glass":     "wineglass",
	"cup":            "mug teacup coffee_cup tea_cup",
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
	"cell phone":     "phone cellphone mobile mobile_phone smartphone smart_phone telephone iphone",
	"microwave":      "microwave_oven",
	"oven":           "stove",
	"refrigerator":   "fridge",
	"clock":          "wall_clock",
	"teddy bear":     "teddy teddybear",
	"hair drier":     "hairdryer hair_dryer hairdrier blow_dryer",
	"scissors":       "scissor",
	"toothbrush":     "tooth_brush",
})

var cocoCollective = expand(map[string]string{
	"car,truck,bus,motorcycle":                                 "vehicle motor_vehicle",
	"bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe": "animal",
	"cat,dog":                            "pet",
	"backpack,handbag,suitcase":          "bag",
	"chair,couch,bed,dining table,bench": "furniture",
	"banana,apple,orange":                "fruit",
	"broccoli,carrot":                    "vegetable",
	"banana,apple,sandwich,orange,broccoli,carrot,hot dog,pizza,donut,cake": "food",
	"cup,wine glass":    "glass drinking_glass",
	"potted plant":      "plant flower",
	"chair,bench,couch": "seat",
	"laptop":            "computer notebook",
	"dining table":      "table desk",
	"fork,knife,spoon":  "cutlery silverware utensil",
})
