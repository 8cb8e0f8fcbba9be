#!/bin/sh
# A tour of the service with curl: from a sandbox to a live key, an upload, a real answer, the
# bill and the feed of events. ffmpeg makes the clip.
#
#   docs/tour.sh [ADDRESS]          the default is http://127.0.0.1:8080
#
# A line that begins with $ shows a request. The lines after it show the response.
set -eu
BASE=${1:-http://127.0.0.1:8080}
API=$BASE/v1
HERE=$(cd "$(dirname "$0")" && pwd)
PATH=$PATH:$HERE/../.cache/tools/bin # the ffmpeg that setup downloads if the machine has none
DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT
cd "$DIR"

say() { printf '\n# %s\n' "$*"; }

# call METHOD PATH [BODY [HEADER]]: sends a request with $KEY and stores the response in
# answer.json. A status outside 2xx ends the tour.
call() {
  method=$1 path=$2 body=${3-} header=${4-}
  printf '$ curl -X %s /v1%s%s%s\n' "$method" "$path" "${header:+ -H '$header'}" "${body:+ -d '$body'}"
  set -- -sS -o answer.json -w '%{http_code}' -X "$method" "$API$path"
  [ -z "$KEY" ] || set -- "$@" -H "Authorization: Bearer $KEY"
  [ -z "$body" ] || set -- "$@" -H 'Content-Type: application/json' -d "$body"
  [ -z "$header" ] || set -- "$@" -H "$header"
  status=$(curl "$@")
  case $status in
  2*) ;;
  *)
    printf '%s ' "$status"
    cat answer.json
    echo
    exit 1
    ;;
  esac
}

# field NAME: prints the first string, number or word with that name in the response.
field() {
  grep -oE "\"$1\":(\"[^\"]*\"|[^],}\"]+)" answer.json | head -n 1 | cut -d : -f 2- | sed 's/^"//; s/"$//; s/\\u0026/\&/g'
}

# show NAME…: prints these fields of the response and shortens secrets.
show() {
  printf '%s' "$status"
  for name in "$@"; do
    printf '  %s: %s' "$name" "$(field "$name" | sed 's/^\(svc_[a-z]*_....\).*/\1…/')"
  done
  echo
}

say 'Create a sandbox: a test key and its fixture video.'
KEY=
call POST /sandbox
show object mode api_key fixture_prompt expected_answer
KEY=$(field api_key)
FIXTURE=$(field fixture_video_id)
PROMPT=$(field fixture_prompt)

say 'Ask the question of the fixture. The canned answer comes at once, free of charge.'
call POST /analyses "{\"video_id\": \"$FIXTURE\", \"prompt\": \"$PROMPT\"}"
show status livemode answer

say 'Upgrade the test key to a live key with a grant of credit-seconds.'
call POST /keys/upgrade
show object tier api_key grant_seconds
KEY=$(field api_key)

say 'Make a clip of 12 seconds that shows a stop sign from second 3 to 8.'
ffmpeg -nostdin -v error -f lavfi -i color=gray:s=640x480:d=12 -loop 1 -i "$HERE/../gpu/worker/testdata/stop-sign.jpg" \
  -filter_complex "[1]scale=-2:360[s];[0][s]overlay=(W-w)/2:(H-h)/2:enable='between(t,3,8)':shortest=1" \
  -pix_fmt yuv420p clip.mp4
ls -l clip.mp4 | awk '{ print $5 " bytes" }'

say 'Create the video, upload it and complete it.'
call POST /videos "{\"filename\": \"clip.mp4\", \"content_type\": \"video/mp4\", \"size_bytes\": $(wc -c <clip.mp4)}"
show id status
VIDEO=$(field id)
printf '$ curl -X PUT --data-binary @clip.mp4 (upload.url)\n'
curl -fsS -X PUT -H 'Content-Type: video/mp4' --data-binary @clip.mp4 "$(field url)"
call POST "/videos/$VIDEO/complete"
show status duration_s width height fps

say 'Preview the question and its cost.'
QUESTION="\"video_id\": \"$VIDEO\", \"prompt\": \"Is there a stop sign?\""
call POST /analyses "{$QUESTION, \"validate_only\": true}"
show object assessable estimated_seconds estimated_cost_usd

say 'Ask it. The real engine answers.'
call POST /analyses "{$QUESTION}" 'Prefer: wait=120'
show status livemode answer start_s end_s billed_seconds credit_balance_after

say 'Read the bill: the balance and the newest transaction.'
call GET /credits
show balance_seconds held_seconds used_seconds kind seconds_delta

say 'Read the event feed, newest first.'
call GET /events
grep -o '"type":"[a-z]*\.[a-z]*"' answer.json | cut -d '"' -f 4
