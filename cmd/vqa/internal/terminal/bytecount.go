package terminal

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ByteCount is a size in a setting: a whole number of bytes, or of KiB, MiB, GiB or TiB.
type ByteCount int64

// byteUnits are the units above one byte, the largest first.
var byteUnits = []struct {
	suffix string
	bytes  int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *ByteCount) UnmarshalText(text []byte) error {
	number, unit := strings.TrimSpace(string(text)), int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is not a size: write a whole number of bytes, or a size such as 500MiB or 100GiB", text)
	}
	*b = ByteCount(n * unit)
	return nil
}

// String formats the size in the largest unit that divides it. UnmarshalText reads it back.
func (b ByteCount) String() string {
	for _, u := range byteUnits {
		if b != 0 && int64(b)%u.bytes == 0 {
			return strconv.FormatInt(int64(b)/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
