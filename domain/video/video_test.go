package video_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
	"vqa/domain/video"
)

var aggregate = scenario.Aggregate[video.State, video.Command, video.Event]{
	Decide: video.Decide, Evolve: video.Evolve,
}

func ptr[T any](v T) *T { return &v }

var (
	now     = scenario.Now
	expires = now.Add(video.UploadWindow)
	file    = video.File{
		ObjectKey: "videos/1", ContentType: "video/quicktime", SizeBytes: 1000, DurationMicros: ptr(int64(2_500_000)),
		Width: ptr(640), Height: ptr(360), FPS: ptr(29.97),
	}
	registration = video.Registration{ID: "video_1", AccountID: "acct_1", Livemode: true, Metadata: map[string]string{"a": "b"}}
	unreadable   = video.Failure{Code: fault.VideoUnreadable, Message: "no video stream"}
)

var (
	uploading = video.Registered{
		VideoID: "video_1", AccountID: "acct_1", Livemode: true, Source: video.SourceUpload, Filename: ptr("a.mov"),
		ContentType: "video/quicktime", DeclaredBytes: ptr(int64(990)), Metadata: map[string]string{"a": "b"},
		ExpiresAt: &expires, At: now,
	}
	fetching = video.Registered{
		VideoID: "video_1", AccountID: "acct_1", Livemode: true, Source: video.SourceURL, URL: "https://example.com/a.mp4",
		Metadata: map[string]string{"a": "b"}, At: now,
	}
	ready    = video.Ready{VideoID: "video_1", File: file, At: now}
	failed   = video.Failed{VideoID: "video_1", Error: unreadable, At: now}
	openOne  = video.AnalysisOpened{VideoID: "video_1", AnalysisID: "an_1", At: now}
	shutOne  = video.AnalysisClosed{VideoID: "video_1", AnalysisID: "an_1", At: now}
	measured = video.Measured{VideoID: "video_1", DecodedMicros: 3_000_000, At: now}
	deleted  = video.Deleted{VideoID: "video_1", ObjectKey: "videos/1", At: now}
	purged   = video.Purged{VideoID: "video_1", At: now}
)

var (
	registerUpload = video.RegisterUpload{
		Registration: registration, Filename: ptr("a.mov"), ContentType: "video/quicktime",
		DeclaredBytes: ptr(int64(990)), ExpiresAt: expires,
	}
	registerURL     = video.RegisterURL{Registration: registration, URL: "https://example.com/a.mp4"}
	registerFixture = video.RegisterFixture{Registration: registration, Filename: "fixture.mp4", File: file}
	registerStored  = video.RegisterStored{Registration: registration, Filename: "demo.mp4", File: file}
)

type (
	events = []video.Event
	cases  = []scenario.Case[video.Command, video.Event]
)

func TestDecide(t *testing.T) {
	t.Parallel()
	aggregate.Run(t, cases{
		{Name: "an upload is announced", When: registerUpload, Then: events{uploading}},
		{Name: "a URL is announced", When: registerURL, Then: events{fetching}},
		{
			Name: "a fixture is ready at once", When: registerFixture,
			Then: events{video.Registered{
				VideoID: "video_1", AccountID: "acct_1", Livemode: true, Source: video.SourceUpload,
				Filename: ptr("fixture.mp4"), ContentType: "video/quicktime", Fixture: true,
				Metadata: map[string]string{"a": "b"}, At: now,
			}, ready},
		},
		{
			Name: "a stored video is ready at once", When: registerStored,
			Then: events{video.Registered{
				VideoID: "video_1", AccountID: "acct_1", Livemode: true, Source: video.SourceUpload,
				Filename: ptr("demo.mp4"), ContentType: "video/quicktime", Metadata: map[string]string{"a": "b"}, At: now,
			}, ready},
		},
		{Name: "an upload is completed", Given: events{uploading}, When: video.Finish{File: file}, Then: events{ready}},
		{Name: "a fetch is completed", Given: events{fetching}, When: video.Finish{File: file}, Then: events{ready}},
		{Name: "an upload fails", Given: events{uploading}, When: video.Fail{Error: unreadable}, Then: events{failed}},
		{Name: "a fetch fails", Given: events{fetching}, When: video.Fail{Error: unreadable}, Then: events{failed}},
		{Name: "completing twice is harmless", Given: events{uploading, ready}, When: video.Finish{File: video.File{ObjectKey: "other"}}},
		{Name: "an analysis begins", Given: events{uploading, ready}, When: video.OpenAnalysis{AnalysisID: "an_1"}, Then: events{openOne}},
		{
			Name: "an analysis ends", Given: events{uploading, ready, openOne}, When: video.CloseAnalysis{AnalysisID: "an_1"},
			Then: events{shutOne},
		},
		{
			Name: "an analysis ends that decoded another length", Given: events{uploading, ready, openOne},
			When: video.CloseAnalysis{AnalysisID: "an_1", DecodedMicros: 3_000_000}, Then: events{shutOne, measured},
		},
		{
			Name: "an analysis ends that decoded the known length", Given: events{uploading, ready, openOne},
			When: video.CloseAnalysis{AnalysisID: "an_1", DecodedMicros: 2_500_000}, Then: events{shutOne},
		},
		{
			Name: "the decoded length is recorded once", Given: events{uploading, ready, measured, openOne},
			When: video.CloseAnalysis{AnalysisID: "an_1", DecodedMicros: 3_000_000}, Then: events{shutOne},
		},
		{Name: "an unknown analysis ends", Given: events{uploading, ready, openOne}, When: video.CloseAnalysis{AnalysisID: "an_2"}},
		{Name: "not deleted under an analysis", Given: events{uploading, ready, openOne}, When: video.Delete{}, Refused: fault.ResourceConflict},
		{Name: "deleted after it", Given: events{uploading, ready, openOne, shutOne}, When: video.Delete{}, Then: events{deleted}},
		{
			Name: "deleted before anything was stored", Given: events{fetching}, When: video.Delete{},
			Then: events{video.Deleted{VideoID: "video_1", At: now}},
		},
		{Name: "a fixture is kept", Given: events{video.Registered{VideoID: "video_1", Fixture: true}, ready}, When: video.Delete{}, Refused: fault.ResourceConflict},
		{Name: "the bytes are gone", Given: events{uploading, ready, deleted}, When: video.Purge{}, Then: events{purged}},
		{Name: "the bytes are gone once", Given: events{uploading, ready, deleted, purged}, When: video.Purge{}},
		{Name: "the bytes of a video that exists are not gone", Given: events{uploading, ready}, When: video.Purge{}, Refused: fault.ResourceConflict},
		{Name: "the bytes of an unknown video", When: video.Purge{}, Refused: fault.ResourceNotFound},
		{Name: "deleted once", Given: events{uploading, ready, deleted}, When: video.Delete{}, Refused: fault.ResourceNotFound},
	})
}

func TestStateTable(t *testing.T) {
	t.Parallel()
	given := map[string]events{
		"(none)": nil, "awaiting_upload": {uploading}, "processing": {fetching}, "ready": {uploading, ready},
		"in use": {uploading, ready, openOne}, "failed": {uploading, failed}, "removed": {uploading, ready, deleted},
		"purged": {uploading, ready, deleted, purged},
	}
	when := map[string]video.Command{
		"RegisterUpload": registerUpload, "RegisterURL": registerURL, "RegisterFixture": registerFixture,
		"RegisterStored": registerStored,
		"Finish":         video.Finish{File: file}, "Fail": video.Fail{Error: unreadable},
		"OpenAnalysis": video.OpenAnalysis{AnalysisID: "an_1"}, "CloseAnalysis": video.CloseAnalysis{AnalysisID: "an_1"},
		"Delete": video.Delete{}, "Purge": video.Purge{},
	}
	scenario.ReadTable(t, "state").Check(t,
		[]string{"(none)", "awaiting_upload", "processing", "ready", "in use", "failed", "removed", "purged"},
		[]string{"RegisterUpload", "RegisterURL", "RegisterFixture", "RegisterStored", "Finish", "Fail", "OpenAnalysis", "CloseAnalysis", "Delete", "Purge"},
		func(t *testing.T, state, command string) (string, string) {
			s := aggregate.Fold(given[state]...)
			require.Equal(t, state, stateOf(s))
			decided, err := video.Decide(s, when[command], now)
			return stateOf(aggregate.Step(t, s, decided...)), scenario.Outcome(decided, err)
		})
}

// stateOf returns the name that the table has for a state.
func stateOf(s video.State) string {
	switch {
	case s.Status == "":
		return "(none)"
	case s.Status == video.ReadyStatus && len(s.OpenAnalyses) > 0:
		return "in use"
	case s.PurgedAt != nil:
		return "purged"
	default:
		return string(s.Status)
	}
}

func TestFoldedState(t *testing.T) {
	t.Parallel()
	s := aggregate.Fold(uploading)
	require.Equal(t, &expires, s.ExpiresAt, "an upload has a window")
	require.Equal(t, "video/quicktime", s.ContentType)
	require.Nil(t, aggregate.Fold(fetching).ExpiresAt)

	s = aggregate.Fold(uploading, ready)
	require.Nil(t, s.ExpiresAt, "a ready video has no window")
	require.Equal(t, &file, s.File)

	s = aggregate.Fold(fetching, failed)
	require.Equal(t, &unreadable, s.Error)
	require.Nil(t, s.File)

	require.False(t, aggregate.Fold(uploading, deleted).Exists())
	require.Nil(t, aggregate.Fold(uploading, deleted).PurgedAt)
	require.False(t, aggregate.Fold(uploading, deleted, purged).Exists())
	require.Equal(t, &purged.At, aggregate.Fold(uploading, deleted, purged).PurgedAt)
	require.True(t, aggregate.Fold(uploading, failed).Exists())
}

func TestUnknownCommandAndEventPanic(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { _, _ = video.Decide(aggregate.Fold(uploading), nil, now) })
	require.Panics(t, func() { video.Evolve(video.State{}, nil) })
}

func TestBilledSeconds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		micros int64
		want   int64
	}{
		"one microsecond":              {1, 1},
		"just under a second":          {999_999, 1},
		"a second":                     {1_000_000, 1},
		"one microsecond over":         {1_000_001, 2},
		"half":                         {2_500_000, 3},
		"four hours":                   {4 * 3600 * 1_000_000, 4 * 3600},
		"four hours and a microsecond": {4*3600*1_000_000 + 1, 4*3600 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := aggregate.Fold(uploading, video.Ready{File: video.File{DurationMicros: &test.micros}})
			got, known := s.BilledSeconds()
			require.True(t, known)
			require.Equal(t, test.want, got)
			require.InDelta(t, time.Duration(test.micros*1000).Seconds(), *s.DurationS(), 1e-9)
		})
	}
	s := aggregate.Fold(uploading, ready, measured)
	got, known := s.BilledSeconds()
	require.True(t, known)
	require.EqualValues(t, 3, got, "the decoded length")
	require.InDelta(t, 3, *s.DurationS(), 1e-9)
	for name, s := range map[string]video.State{
		"no file":      aggregate.Fold(uploading),
		"only a claim": aggregate.Fold(uploading, video.Ready{File: video.File{ClaimedMicros: ptr(int64(1_000_000))}}),
		"no duration":  aggregate.Fold(uploading, video.Ready{File: video.File{}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, known := s.BilledSeconds()
			require.False(t, known)
			require.Nil(t, s.DurationS())
		})
	}
}

func TestCheckUploadSize(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		declared *int64
		actual   int64
		ok       bool
	}{
		"nothing declared":                       {nil, 1, true},
		"nothing declared, nothing uploaded":     {nil, 0, false},
		"exact":                                  {ptr(int64(1000)), 1000, true},
		"5% over":                                {ptr(int64(1000)), 1050, true},
		"a byte more than 5% over":               {ptr(int64(1000)), 1051, false},
		"5% under":                               {ptr(int64(1000)), 950, true},
		"a byte more than 5% under":              {ptr(int64(1000)), 949, false},
		"5% of a small file is less than a byte": {ptr(int64(19)), 20, false},
		"5% of 20 bytes is one":                  {ptr(int64(20)), 21, true},
		"empty":                                  {ptr(int64(1)), 0, false},
		"a negative size":                        {ptr(int64(1000)), -1000, false},
		"the largest video":                      {ptr(video.MaxBytes), video.MaxBytes, true},
		"the largest video, 5% under":            {ptr(video.MaxBytes), 2040109466, true},
		"and one byte less":                      {ptr(video.MaxBytes), 2040109465, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := video.CheckUploadSize(test.declared, test.actual)
			if test.ok {
				require.NoError(t, err)
				return
			}
			require.True(t, fault.Has(err, fault.UploadIncomplete), "%v", err)
			require.Equal(t, "size_bytes", fault.Of(err).Param)
		})
	}
}
