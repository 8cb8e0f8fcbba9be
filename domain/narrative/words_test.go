package narrative

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/query/vocabulary"
)

func TestNouns(t *testing.T) {
	t.Parallel()
	for class, want := range map[string][2]string{
		"dog": {"a dog", "two dogs"}, "umbrella": {"an umbrella", "two umbrellas"}, "hour glass": {"an hour glass", "two hour glasses"},
		"unicycle": {"a unicycle", "two unicycles"}, "bus": {"a bus", "two buses"}, "bench": {"a bench", "two benches"},
		"toothbrush": {"a toothbrush", "two toothbrushes"}, "box": {"a box", "two boxes"}, "teddy bear": {"a teddy bear", "two teddy bears"},
		"person": {"a person", "two people"}, "fireman": {"a fireman", "two firemen"}, "fly": {"a fly", "two flies"},
		"toy": {"a toy", "two toys"}, "scissors": {"a pair of scissors", "two pairs of scissors"}, "TV ": {"a TV", "two TVs"},
		"apple": {"an apple", "two apples"}, "orange": {"an orange", "two oranges"}, "European flag": {"a european flag", "two european flags"},
		"": {"an object", "two objects"}, "<b>": {"an object", "two objects"}, "straße": {"an object", "two objects"},
	} {
		n := nounOf(class)
		require.Equal(t, want, [2]string{n.some(1), n.some(2)}, class)
	}
}

// TestEveryClassHasAName checks that each class of the embedded model has its own name.
func TestEveryClassHasAName(t *testing.T) {
	t.Parallel()
	said := map[noun]string{}
	for _, class := range vocabulary.COCO().Names() {
		n := nounOf(class)
		require.NotEqual(t, "object", n.one, class)
		require.Empty(t, said[n], class)
		said[n] = class
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	dog := nounOf("dog")
	require.Equal(t, "12 dogs", dog.some(12))
	require.Equal(t, "a second dog", dog.another(1, 2))
	require.Equal(t, "two dogs", dog.another(2, 2))
	require.Equal(t, "two more dogs", dog.another(2, 5))
	require.Equal(t, "an eighth dog", dog.another(1, 8))
	require.Equal(t, "another dog", dog.another(1, 11))
	require.Equal(t, "the dog", dog.of(1, 1))
	require.Equal(t, "all three dogs", dog.of(3, 3))
	require.Equal(t, "a, b and c", list([]string{"a", "b", "c"}))
}
