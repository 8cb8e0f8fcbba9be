#!/bin/sh
# The drill of an auditor: is this bundle the history that you knew before?
#
#     sh drill.sh KEPT KEY [BUNDLE]
#
# KEPT is what you kept last month: a checkpoint, the .tlog-proof of a transaction, or a bundle. KEY is the
# public key of the platform's log in base64, which you wrote down then. BUNDLE is the folder of the bundle. The
# default is the folder of this script. Run your own copy of this script, with verify.py, statement.py and
# transparency.py beside it, because the copy in a forged bundle may be forged, too.
#
# It prints "correct", or each row that is wrong. Exit status: 0 correct, 1 wrong, 2 nothing was compared: the
# arguments are wrong, KEPT or KEY cannot be read, or the bundle lacks a file. Standard error says which. It uses
# no network: where the system allows it, the check runs in a network namespace without any interface.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
	echo "usage: sh drill.sh KEPT KEY [BUNDLE]" >&2
	exit 2
fi
for program in verify.py statement.py transparency.py; do
	if [ ! -f "$here/$program" ]; then
		echo "Nothing was checked, because $here is incomplete: it has no $program. Ask for the whole bundle, or run a complete copy of the four programs." >&2
		exit 2
	fi
done
alone=
for cut in "unshare --net" "unshare --map-root-user --net"; do
	if $cut true 2>/dev/null; then
		alone=$cut
		break
	fi
done
[ -n "$alone" ] || echo "note: this system allows no network namespace; the program opens no connection by itself" >&2
if found=$($alone python3 "$here/verify.py" --key "$2" --kept "$1" "${3:-$here}"); then
	echo "correct"
	printf '%s\n' "$found" | sed -n 's/^\(account\|entries\|log\|sealed\|NOTE\) /  &/p'
	exit 0
fi
[ -n "$found" ] || exit 2 # nothing was compared; the reason is on standard error
printf '%s\n' "$found" | sed -n 's/^MISMATCH  /wrong: /p'
exit 1
