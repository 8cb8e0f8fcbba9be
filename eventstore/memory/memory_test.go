package memory_test

import (
	"testing"
	"time"

	"vqa/eventstore"
	"vqa/eventstore/memory"
	"vqa/eventstore/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) eventstore.Store {
		return memory.New(storetest.Codec(), time.Now)
	})
}
