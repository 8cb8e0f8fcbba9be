package message_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query/english"
	"vqa/domain/stream"
	"vqa/streaming/message"
)

// messages has each message of the service with its JSON form.
func messages() map[string]message.Server {
	q := english.Compile("Is there a dog?")
	shape, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, 11, 23, 12, 0, 0, 123456789, time.FixedZone("", 3600))
	return map[string]message.Server{
		`{"type":"ready","ice_servers":[{"urls":["stun:a:1"],"username":null,"credential":null}],"limits":{"max_session_s":3600,"warn_at_remaining_s":60}}`: message.Ready{
			ICEServers: []message.ICEServer{{URLs: []string{"stun:a:1"}}}, Limits: message.Limits{MaxSessionS: 3600, WarnAtRemainingS: 60},
		},
		`{"type":"ready","ice_servers":[],"limits":{"max_session_s":1,"warn_at_remaining_s":1}}`: message.Ready{Limits: message.Limits{MaxSessionS: 1, WarnAtRemainingS: 1}},
		`{"type":"queued","position":2,"estimated_start_s":null}`:                                message.Queued{Position: 2},
		`{"type":"queued","position":1,"estimated_start_s":9}`:                                   message.Queued{Position: 1, EstimatedStartS: new(9)},
		`{"type":"answer","sdp":"v=0\r\n"}`:                                                      message.Answer{SDP: "v=0\r\n"},
		`{"type":"ice","candidate":null}`:                                                        message.ServerICE{},
		`{"type":"ice","candidate":{"candidate":"c","sdpMid":"0","sdpMLineIndex":0,"usernameFragment":null}}`: message.ServerICE{
			Candidate: &message.Candidate{Candidate: "c", SDPMid: new("0"), SDPMLineIndex: new(uint16(0))},
		},
		`{"type":"live","live_started_at":"2026-11-23T11:00:00.123Z"}`: message.Live{LiveStartedAt: at},
		`{"type":"result","seq":1,"t_s":0.2,"answer":"yes","confidence":0.9,"detected_count":null,"indeterminate_reason":null,"detections":[{"term":"dog","confidence":0.8,"box":[0,0.25,0.5,1]}]}`: message.Result{
			Seq: 1, AtS: 0.2, Answer: answer.Yes, Confidence: 0.9,
			Detections: []stream.Detection{{Term: "dog", Confidence: 0.8, Box: [4]float64{0, 0.25, 0.5, 1}}},
		},
		`{"type":"result","seq":2,"t_s":0,"answer":"indeterminate","confidence":0,"detected_count":3,"indeterminate_reason":null,"detections":[],"narrative_update":{"t_s":1,"text":"A dog."}}`: message.Result{
			Seq: 2, Answer: answer.Indeterminate, DetectedCount: new(3), NarrativeUpdate: &stream.NarrativeUpdate{AtS: 1, Text: "A dog."},
		},
		`{"type":"prompt_updated","prompt":"Is there a dog?","query":` + string(shape) + `}`: message.PromptUpdated{Prompt: "Is there a dog?", Query: q},
		`{"type":"metering","elapsed_s":5,"billed_seconds":5,"balance_seconds":95}`:          message.Metering{ElapsedS: 5, BilledSeconds: 5, BalanceSeconds: 95},
		`{"type":"warning","remaining_s":60}`:                                                message.Warning{RemainingS: 60},
		`{"type":"end","reason":"completed"}`:                                                message.ServerEnd{Reason: stream.Completed},
		`{"type":"error","code":"validation_failed","message":"no"}`:                         message.Error{Code: fault.ValidationFailed, Message: "no"},
		`{"type":"pong"}`: message.Pong{},
		`{"type":"status","status":"recalculating"}`:                  message.Status{Status: message.Recalculating},
		`{"type":"status","status":"prompt_context","message":"<b>"}`: message.Status{Status: message.PromptContext, Message: "<b>"},
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	for want, m := range messages() {
		got, err := message.Encode(m)
		require.NoError(t, err)
		require.Equal(t, want, string(got))

		back, err := message.DecodeServer(got)
		require.NoError(t, err, want)
		again, err := message.Encode(back)
		require.NoError(t, err)
		require.Equal(t, want, string(again))
	}
}

func TestDecodeServerOfALaterVersion(t *testing.T) {
	t.Parallel()
	m, err := message.DecodeServer([]byte(`{"type":"novelty","x":1}`))
	require.NoError(t, err)
	require.Nil(t, m)
	m, err = message.DecodeServer([]byte(`{"type":"pong","x":1}`))
	require.NoError(t, err)
	require.Equal(t, message.Pong{}, m)
	_, err = message.DecodeServer([]byte(`{"type":"queued","position":"x"}`))
	require.ErrorContains(t, err, "position")
	_, err = message.DecodeServer([]byte(`[`))
	require.Error(t, err)
}

func TestDecode(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\U0001F415", message.MaxPrompt)
	for text, want := range map[string]message.Client{
		`{"type":"join"}`:                       message.Join{},
		" {\n\t\"type\" : \"end\"\r} ":          message.ClientEnd{},
		`{"type":"ping"}`:                       message.Ping{},
		`{"sdp":"v=0\r\n","type":"offer"}`:      message.Offer{SDP: "v=0\r\n"},
		`{"type":"ice","candidate":null}`:       message.ClientICE{},
		`{"type":"update_prompt","prompt":"x"}`: message.UpdatePrompt{Prompt: "x"},
		`{"type":"ice","candidate":{"candidate":"","sdpMid":null,"sdpMLineIndex":65535}}`: message.ClientICE{
			Candidate: &message.Candidate{SDPMLineIndex: new(uint16(65535))},
		},
		`{"type":"ice","candidate":{"candidate":"c","sdpMid":"0","usernameFragment":"u"},"errors":[]}`: message.ClientICE{
			Candidate: &message.Candidate{Candidate: "c", SDPMid: new("0"), UsernameFragment: new("u")}, Errors: []message.ICEError{},
		},
		`{"type":"ice","candidate":null,"errors":[{"url":"turn:x","errorCode":701,"errorText":"t"},{"url":"","errorCode":0}]}`: message.ClientICE{
			Errors: []message.ICEError{{URL: "turn:x", Code: 701, Text: "t"}, {}},
		},
		`{"type":"update_prompt","prompt":"` + long + `"}`:                                              message.UpdatePrompt{Prompt: long},
		`{"type":"update_prompt","prompt":"` + strings.Repeat(`\ud83d\udc15`, message.MaxPrompt) + `"}`: message.UpdatePrompt{Prompt: long},
	} {
		got, err := message.Decode([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		require.Equal(t, want.Type(), got.Type())
	}
}

func TestDecodeNamesTheField(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                   "not valid JSON",
		`{"type":"join"`:                     "not valid JSON",
		`{"type":"join"} x`:                  "not valid JSON",
		`{"type":"join","type":"join"}`:      "not valid JSON",
		"{\"type\":\"join\",\"a\":\"\xff\"}": "not valid JSON",
		`[]`:                                 "must be a JSON object",
		`null`:                               "must be a JSON object",
		`{}`:                                 "type: is required",
		`{"type":1}`:                         "type: must be a string",
		`{"type":""}`:                        "type: must not be empty",
		`{"Type":"join"}`:                    "type: is required",
		`{"type":"answer"}`:                  "type: must be one of end, ice, join, offer, ping, update_prompt",
		`{"type":"` + strings.Repeat("x", 65) + `"}`:                                   "type: must have at most 64 bytes",
		`{"type":"join","x":1}`:                                                        "x: is not a member",
		`{"type":"join","` + strings.Repeat("x", 99) + `":1}`:                          strings.Repeat("x", 64) + "…: is not a member",
		`{"type":"offer"}`:                                                             "sdp: is required",
		`{"type":"offer","sdp":null}`:                                                  "sdp: must be a string",
		`{"type":"offer","sdp":""}`:                                                    "sdp: must not be empty",
		`{"type":"offer","sdp":"\u0000"}`:                                              "sdp: must not contain",
		`{"type":"offer","SDP":"x"}`:                                                   "SDP: is not a member",
		`{"type":"ice"}`:                                                               "candidate: is required",
		`{"type":"ice","candidate":"c"}`:                                               "candidate: must be an RTCIceCandidateInit",
		`{"type":"ice","candidate":{}}`:                                                "candidate.candidate: is required",
		`{"type":"ice","candidate":{"candidate":"c","x":1}}`:                           "candidate.x: is not a member",
		`{"type":"ice","candidate":{"candidate":"c","sdpMid":0}}`:                      "candidate.sdpMid: must be a string",
		`{"type":"ice","candidate":{"candidate":"c","sdpMLineIndex":-1}}`:              "candidate.sdpMLineIndex: must be from 0 to 65535",
		`{"type":"ice","candidate":{"candidate":"c","sdpMLineIndex":0.5}}`:             "candidate.sdpMLineIndex: must be an integer",
		`{"type":"ice","candidate":{"candidate":"c","sdpMLineIndex":"0"}}`:             "candidate.sdpMLineIndex: must be an integer",
		`{"type":"ice","candidate":{"candidate":"` + strings.Repeat("c", 1025) + `"}}`: "candidate.candidate: must have at most 1024 bytes",
		`{"type":"ice","candidate":null,"errors":{}}`:                                  "errors: must be a list",
		`{"type":"ice","candidate":null,"errors":[1]}`:                                 "errors.0: must be an object",
		`{"type":"ice","candidate":null,"errors":[{"errorCode":1}]}`:                   "errors.0.url: is required",
		`{"type":"ice","candidate":null,"errors":[{"url":"x"}]}`:                       "errors.0.errorCode: is required",
		`{"type":"ice","candidate":null,"errors":[{"url":"x","errorCode":1000}]}`:      "errors.0.errorCode: must be from 0 to 999",
		`{"type":"ice","candidate":null,"errors":[` + strings.Repeat("1,", 16) + `1]}`: "errors: must have at most 16 items",
		`{"type":"update_prompt"}`:                                                     "prompt: is required",
		`{"type":"update_prompt","prompt":["x"]}`:                                      "prompt: must be a string",
		`{"type":"join"` + strings.Repeat(" ", message.MaxOther) + `}`:                 "at most 4096 bytes",
		strings.Repeat("x", message.MaxOffer+1):                                        "at most 65536 bytes",
	} {
		m, err := message.Decode([]byte(text))
		require.Nil(t, m, text)
		require.ErrorContains(t, err, want, text)
		require.True(t, fault.Has(err, fault.ValidationFailed), text)
		require.Less(t, len(err.Error()), 300)
	}
	_, err := message.Decode([]byte(`{"type":"update_prompt","prompt":" "}`))
	require.True(t, fault.Has(err, fault.PromptEmpty))
	_, err = message.Decode([]byte(`{"type":"update_prompt","prompt":"` + strings.Repeat("x", 2001) + `"}`))
	require.True(t, fault.Has(err, fault.PromptTooLong))
}

func TestErrorOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, message.Error{Code: fault.PromptEmpty, Message: "x"}, message.ErrorOf(fmt.Errorf("y: %w", fault.New(fault.PromptEmpty, "x"))))
	got := message.ErrorOf(errors.New("secret"))
	require.Equal(t, fault.InternalError, got.Code)
	require.NotContains(t, got.Message, "secret")
}

// FuzzDecode checks that each accepted message has the same meaning after it was written and read again,
// and that each refusal is a fault with a bounded text.
func FuzzDecode(f *testing.F) {
	for text := range messages() {
		f.Add([]byte(text))
	}
	for _, text := range []string{
		`{"type":"join"}`, `{"type":"offer","sdp":"v=0\r\n"}`, `{"type":"end"}`, `{"type":"ping"}`, `{"type":"update_prompt","prompt":"x"}`,
		`{"type":"ice","candidate":{"candidate":"c","sdpMid":"0","sdpMLineIndex":0},"errors":[{"url":"x","errorCode":701,"errorText":"y"}]}`,
		strings.Repeat("[", 20000), `{"type":"ice","candidate":{"candidate":"c","sdpMLineIndex":1e999}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := message.Decode(bytes.Clone(raw))
		if err != nil {
			require.NotNil(t, fault.Of(err))
			require.Less(t, len(message.ErrorOf(err).Message), 1<<10)
			return
		}
		written, err := message.Encode(m)
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(written, []byte(`{"type":"`+m.Type()+`"`)))
		if len(written) > message.MaxOther && m.Type() == "ice" {
			return // it grew by members that were absent
		}
		again, err := message.Decode(written)
		require.NoError(t, err)
		if c, ok := m.(message.ClientICE); ok && len(c.Errors) == 0 {
			c.Errors = nil
			m = c
		}
		require.Equal(t, m, again)
	})
}
