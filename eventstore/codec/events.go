package codec

import (
	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/grant"
	"vqa/domain/incident"
	"vqa/domain/stream"
	"vqa/domain/video"
	"vqa/domain/webhook"
)

// Events returns the codec of every event of the domain. The list is written by hand, because a
// stored name must stay valid as long as the log exists.
func Events() *Codec {
	return New(
		Register[account.Opened]("account.opened"),
		Register[account.SignedUp]("account.signed_up"),
		Register[account.EmailStated]("account.email_stated"),
		Register[account.KeyIssued]("account.key_issued"),
		Register[account.KeyReplaced]("account.key_replaced"),
		Register[account.KeyUsed]("account.key_used"),
		Register[account.KeyRevoked]("account.key_revoked"),
		Register[account.Upgraded]("account.upgraded"),
		Register[account.Restricted]("account.restricted"),
		Register[account.Unrestricted]("account.unrestricted"),
		Register[account.SandboxIssued]("sandbox.issued"),
		Register[account.UpgradeGranted]("upgrade.granted"),
		Register[account.UpgradeCounted]("upgrade_day.counted"),
		Register[account.IdentityClaimed]("identity.claimed"),
		Register[account.ClientTokenMinted]("client_token.minted"),
		Register[account.DeviceCodeRequested]("device_code.requested"),
		Register[account.DeviceCodeApproved]("device_code.approved"),
		Register[account.DeviceCodeDenied]("device_code.denied"),
		Register[account.DeviceCodeConsumed]("device_code.consumed"),
		Register[account.ClaimRequested]("claim_address.requested"),
		Register[account.UserCodeMissed]("claim_guesses.missed"),
		Register[account.SessionOpened]("session.opened"),
		Register[account.SessionRefreshed]("session.refreshed"),
		Register[account.SessionEnded]("session.ended"),
		Register[account.SessionRevoked]("session.revoked"),
		Register[account.SignInLinkCreated]("signin_link.created"),
		Register[account.SignInLinkUsed]("signin_link.used"),
		Register[account.PasskeyRegistered]("passkey.registered"),
		Register[account.PasskeyUsed]("passkey.used"),
		Register[account.PasskeyRemoved]("passkey.removed"),

		Register[credit.Granted]("credit.granted"),
		Register[credit.Held]("credit.held"),
		Register[credit.Extended]("credit.extended"),
		Register[credit.Settled]("credit.settled"),
		Register[credit.Released]("credit.released"),
		Register[credit.Refunded]("credit.refunded"),
		Register[credit.LedgerKeyAdded]("ledger.key_added"),
		Register[credit.LogSealed]("ledger.sealed"),

		Register[video.Registered]("video.registered"),
		Register[video.Ready]("video.ready"),
		Register[video.Failed]("video.failed"),
		Register[video.AnalysisOpened]("video.analysis_opened"),
		Register[video.AnalysisClosed]("video.analysis_closed"),
		Register[video.Measured]("video.measured"),
		Register[video.Deleted]("video.deleted"),
		Register[video.Purged]("video.purged"),

		Register[analysis.Created]("analysis.created"),
		Register[analysis.Started]("analysis.started"),
		Register[analysis.Reclaimed]("analysis.reclaimed"),
		Register[analysis.Progressed]("analysis.progressed"),
		Register[analysis.Completed]("analysis.completed"),
		Register[analysis.Failed]("analysis.failed"),
		Register[analysis.Canceled]("analysis.canceled"),
		Register[analysis.Repeated]("analysis.rerun"),
		Register[analysis.Drawn]("analysis.drawn"),
		Register[analysis.Narrated]("analysis.narrated"),
		Register[analysis.NarrationFailed]("analysis.narration_failed"),

		Register[stream.Created]("stream.created"),
		Register[stream.SlotGranted]("stream.slot_granted"),
		Register[stream.Offered]("stream.offered"),
		Register[stream.WentLive]("stream.live"),
		Register[stream.Resumed]("stream.resumed"),
		Register[stream.Paused]("stream.paused"),
		Register[stream.Metered]("stream.metered"),
		Register[stream.PromptUpdated]("stream.prompt_updated"),
		Register[stream.PartRecorded]("stream.part_recorded"),
		Register[stream.RecordingBroke]("stream.recording_failed"),
		Register[stream.RecordingDeleted]("stream.recording_deleted"),
		Register[stream.Ended]("stream.ended"),

		Register[webhook.Created]("webhook.created"),
		Register[webhook.Changed]("webhook.changed"),
		Register[webhook.SecretRotated]("webhook.secret_rotated"),
		Register[webhook.Warned]("webhook.warned"),
		Register[webhook.Disabled]("webhook.disabled"),
		Register[webhook.Enabled]("webhook.enabled"),
		Register[webhook.Deleted]("webhook.deleted"),
		Register[webhook.Delivered]("delivery.delivered"),
		Register[webhook.Dead]("delivery.dead"),
		Register[webhook.Requeued]("delivery.requeued"),

		Register[grant.Approved]("grant.approved"),
		Register[grant.Denied]("grant.denied"),
		Register[grant.Redeemed]("grant.redeemed"),
		Register[grant.Refreshed]("grant.refreshed"),
		Register[grant.Revoked]("grant.revoked"),
		Register[grant.Registered]("agent_client.registered"),
		Register[grant.Kept]("agent_client.kept"),

		Register[incident.Opened]("incident.opened"),
		Register[incident.Closed]("incident.closed"),
	)
}
