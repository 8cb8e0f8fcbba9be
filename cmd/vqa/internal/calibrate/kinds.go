package calibrate

var kindOf = map[string]string{"person": "person"}

func init() {
	for kind, names := range map[string][]string{
		"animal":  {"bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"},
		"vehicle": {"bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"},
		"big":     {"bench", "chair", "couch", "potted plant", "bed", "dining table", "toilet", "tv", "microwave", "oven", "sink", "refrigerator"},
	} {
		for _, name := range names {
			kindOf[name] = kind
		}
	}
}

func exclusive(a, b string) bool {
	road := func(c string) bool { return kindOf[c] == "vehicle" && c != "airplane" && c != "boat" }
	return kindOf[a] == "animal" && kindOf[b] == "animal" || road(a) && road(b)
}
