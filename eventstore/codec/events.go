package codec

import (
	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/video"
)

// Events returns the codec of every event of the domain. The list is written by
// hand: a name in it is a promise to whoever reads the log in later years.
func Events() *Codec {
	return New(
		Register[account.Opened]("account.opened"),
		Register[account.KeyIssued]("account.key_issued"),
		Register[account.KeyRevoked]("account.key_revoked"),
		Register[account.SandboxIssued]("sandbox.issued"),

		Register[credit.Granted]("credit.granted"),
		Register[credit.Held]("credit.held", holdsExpire),
		Register[credit.Settled]("credit.settled"),
		Register[credit.Released]("credit.released", releasesHaveReasons),
		Register[credit.Refunded]("credit.refunded"),
		Register[credit.Sealed]("checkpoint.sealed"),
		Register[credit.LedgerKeyAdded]("ledger.key_added"),

		Register[video.Registered]("video.registered"),
		Register[video.Ready]("video.ready"),
		Register[video.Failed]("video.failed"),
		Register[video.AnalysisOpened]("video.analysis_opened"),
		Register[video.AnalysisClosed]("video.analysis_closed"),
		Register[video.Deleted]("video.deleted"),

		Register[analysis.Created]("analysis.created"),
		Register[analysis.Started]("analysis.started"),
		Register[analysis.Reclaimed]("analysis.reclaimed"),
		Register[analysis.Progressed]("analysis.progressed"),
		Register[analysis.Completed]("analysis.completed"),
		Register[analysis.Failed]("analysis.failed"),
		Register[analysis.Canceled]("analysis.canceled"),
	)
}
