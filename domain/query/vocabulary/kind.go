package vocabulary

// Kind groups the classes that a detector finds about equally well.
type Kind string

// The kinds.
const (
	Person  Kind = "person"
	Animal  Kind = "animal"
	Vehicle Kind = "vehicle"
	Big     Kind = "big"   // furniture and appliances
	Small   Kind = "small" // everything else
)

var kinds = func() map[string]Kind {
	out := map[string]Kind{}
	for row := range rows("kinds") {
		for _, class := range row[1:] {
			out[class] = Kind(row[0])
		}
	}
	return out
}()

// KindOf returns the kind of a model's class. A class that is not in COCO has the kind of the
// class that it means there: "puppy" is an animal. A class that means none is a small thing.
func KindOf(class string) Kind {
	if classes, ok := coco.Lookup(class); ok {
		class = classes[0]
	}
	if kind, ok := kinds[class]; ok {
		return kind
	}
	return Small
}
