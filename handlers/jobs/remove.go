package jobs

import (
	"context"
	"fmt"
	"time"

	"vqa/handlers/command"
)

// removeTimeout bounds one attempt at a removal.
const removeTimeout = time.Minute

// Cleaner removes the objects of a deleted video.
type Cleaner interface {
	// DeleteVideo removes all objects of a video; key is that of its bytes. Missing objects
	// are not an error. Nil means that the objects are gone.
	DeleteVideo(ctx context.Context, videoID, key string) error
}

// removeArgs is one attempt at removing the objects of a deleted video. Jobs of earlier
// versions have no attempt and no account.
type removeArgs struct {
	command.Removal
}

// Kind implements river.JobArgs.
func (removeArgs) Kind() string { return "remove_video" }

func (a removeArgs) attempt() (id string, number int, cause command.Cause) {
	return a.VideoID, a.Attempt, a.Cause
}

// remover runs attempts at removals.
type remover struct {
	commands *command.Service
	objects  Cleaner
}

// run removes the objects of a video and records that they are gone. It claims nothing, so it
// may run twice. No error ends the work: the bytes must go.
func (r remover) run(ctx context.Context, removal command.Removal) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	err := r.objects.DeleteVideo(ctx, removal.VideoID, removal.Key)
	if err == nil && removal.AccountID != "" { // else the sweep enqueues one with an account
		err = r.commands.PurgeVideo(ctx, removal)
	}
	if err == nil {
		return nil
	}
	c := classify(err)
	if !c.infrastructure() {
		c = classObjects
	}
	return &pausedError{class: c, err: fmt.Errorf("remove %s: %w", removal.VideoID, err)}
}

// RemoveVideo enqueues an attempt at removing the objects of a video. A second call adds
// nothing.
func (c *Client) RemoveVideo(ctx context.Context, removal command.Removal) error {
	_, err := c.river.Insert(ctx, removeArgs{removal}, attempt(queueRemovals))
	return err
}
