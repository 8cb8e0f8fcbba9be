package main_test

import "vqa/handlers/intake/demo/paint"

// Scenes are drawn. Things appear and disappear at least one second from either
// end of the video, and never exactly at a sample.
var Scenes = []Scene{
	{
		Name: "clocks", Seconds: 6, ground: room,
		Things: []Thing{
			{Class: "clock", width: 140, height: 140, from: 0, to: 6, place: stays(150, 100), paint: clockOf(70)},
			{Class: "clock", width: 110, height: 110, from: 1.6, to: 4.3, place: stays(490, 110), paint: clockOf(55)},
		},
		Asks: []Question{
			isThere("clock"), howMany("clock"), areThereAtLeast(2, "clock"), areThereMoreThan(2, "clock"), isThereOn("right", "clock"),
			when(isThereOn("right", "clock")), isThereOn("left", "clock"), isThereAtThe("bottom", "clock"), isThereNo("clock"), isThere("dog"),
		},
	},
	{
		Name: "signs", Seconds: 6, ground: meadow,
		Things: []Thing{
			{Class: "stop sign", width: 100, height: 100, from: 1.4, to: 3.9, place: stays(180, 130), paint: stopSign},
			{Class: "stop sign", width: 100, height: 100, from: 2.7, to: 4.8, place: stays(460, 140), paint: stopSign},
		},
		Asks: []Question{
			whenIsThere("stop sign"), howMany("stop sign"), areThereExactly(2, "stop sign"), areThereExactly(1, "stop sign"),
			isThereInTheFirst(1, "stop sign"), isThereBetween("stop sign", 2, 4), isThereOn("right", "stop sign"),
			when(isThereOn("right", "stop sign")), isThereNo("stop sign"),
		},
	},
	{
		Name: "frisbee", Seconds: 6, ground: meadow,
		Things: []Thing{
			{Class: "frisbee", color: "red", width: 150, height: 48, from: 1.2, to: 4.7, place: passes(90, 550, 130, 1.2, 4.7), paint: frisbeeOf(75, 0xe8262e, 0xa01018)},
		},
		Asks: []Question{
			isThereOf("red", "frisbee"), isThereOf("blue", "frisbee"), whenIsThere("frisbee"), howMany("frisbee"), isThereOn("left", "frisbee"),
			isThereOn("right", "frisbee"), when(isThereOn("right", "frisbee")), when(isThereOf("red", "frisbee")), isThereAtThe("bottom", "frisbee"),
		},
	},
	{
		Name: "desk", Seconds: 6, ground: room,
		Things: []Thing{
			{Class: "laptop", width: 256, height: 168, from: 0, to: 4.6, place: stays(230, 230), paint: laptopOf(200)},
			{Class: "vase", width: 110, height: 230, from: 2.1, to: 6, place: stays(520, 230), paint: vaseOf(80)},
		},
		Asks: []Question{
			isThereAnd("laptop", "vase"), isThereOr("laptop", "vase"), isThereOr("vase", "dog"), isThereAnd("vase", "cat"), isThere("vase"),
			isThereOn("left", "vase"), isThereNo("elephant"),
		},
	},
	{
		Name: "sky", Seconds: 6, ground: meadow,
		Things: []Thing{
			{Class: "airplane", width: 200, height: 90, from: 1.3, to: 4.6, place: passes(150, 500, 60, 1.3, 4.6), paint: airplaneOf(200)},
			{Class: "kite", width: 66, height: 100, from: 0, to: 6, place: stays(130, 210), paint: kiteOf(46, 0xd8323c, 0xf2c230)},
			{Class: "kite", width: 66, height: 100, from: 0, to: 6, place: stays(330, 220), paint: kiteOf(46, 0x2a6fc0, 0xf4f4f0)},
			{Class: "kite", width: 66, height: 100, from: 2.2, to: 6, place: stays(530, 210), paint: kiteOf(46, 0x3a9a4a, 0xf08a2a)},
		},
		Asks: []Question{
			howMany("kite"), areThereAtLeast(3, "kite"), areThereMoreThan(3, "kite"), whenIsThere("airplane"), isThereAnd("kite", "airplane"),
			isThereAtThe("top", "airplane"), when(isThereAtThe("top", "airplane")), isThere("person"),
		},
	},
	{
		Name: "junction", Seconds: 6, ground: meadow,
		Things: []Thing{
			{Class: "traffic light", width: 50, height: 130, from: 0, to: 6, place: stays(470, 130), paint: trafficLightOf(130)},
			{Class: "stop sign", width: 100, height: 100, from: 1.1, to: 3.4, place: stays(160, 130), paint: stopSign},
		},
		Asks: []Question{
			isThereAnd("traffic light", "stop sign"), isThere("traffic light"), howMany("traffic light"), isThereOn("left", "stop sign"),
			isThereOn("left", "traffic light"), isThereBetween("stop sign", 4, 6), isThereNo("stop sign"),
		},
	},
	{
		Name: "balls", Seconds: 6, ground: meadow,
		Things: []Thing{
			{Class: "ball", width: 108, height: 108, from: 1.2, to: 4.9, place: passes(80, 300, 290, 1.2, 4.9), paint: ballOf(54)},
			{Class: "ball", width: 108, height: 108, from: 2.2, to: 4.4, place: passes(560, 420, 100, 2.2, 4.4), paint: ballOf(54)},
		},
		Asks: []Question{
			isThere("ball"), howMany("ball"), areThereAtLeast(3, "ball"), isThereAtThe("bottom", "ball"), isThereOn("right", "ball"), isThereNo("ball"),
		},
	},
	{
		Name: "bus", Seconds: 6, ground: meadow, mistaken: true,
		Things: []Thing{
			{Class: "bus", color: "yellow", drives: true, width: 320, height: 160, from: 0, to: 6, place: passes(-200, 900, 225, 0, 6), paint: busOf(320, 0xf0c020)},
		},
		Asks: []Question{isThereOf("yellow", "bus"), isThereOf("green", "bus"), whenIsThere("bus"), howMany("bus"), isThereInTheFirst(5, "bus"), isMoving("bus")},
	},
	{
		Name: "pan", Seconds: 6, ground: meadow, scenery: hills(60),
		Things: []Thing{
			{Class: "stop sign", width: 100, height: 100, from: 0, to: 6, place: passes(560, 200, 130, 0, 6), paint: stopSign},
		},
		Asks: []Question{isMoving("stop sign"), howMany("stop sign"), whenIsThere("stop sign")},
	},
	{
		Name: "follow", Seconds: 6, ground: meadow, scenery: hills(90),
		Things: []Thing{
			{Class: "airplane", drives: true, width: 200, height: 90, from: 0, to: 6, place: stays(320, 90), paint: airplaneOf(200)},
		},
		Asks: []Question{isMoving("airplane"), howMany("airplane")},
	},
	{
		Name: "nothing", Seconds: 4, ground: meadow,
		Asks: []Question{
			isThere("person"), isThereNo("person"), howMany("clock"), whenIsThere("bus"), isThereOr("cat", "dog"),
			{Prompt: "Is there a unicorn?", Unknown: "nothing_detected"}, {Prompt: "Is anyone speaking?", Unknown: "unsupported_action_term"},
		},
	},
}

func stopSign(c paint.Canvas, x, y, _ float64) { c.StopSign(x, y, 50, 300) }

func kiteOf(size float64, one, other uint32) func(c paint.Canvas, x, y, atS float64) {
	return func(c paint.Canvas, x, y, atS float64) {
		c.Kite(x, y, size, .15, 4*atS, paint.RGB(one), paint.RGB(other))
	}
}

func ballOf(r float64) func(c paint.Canvas, x, y, atS float64) {
	return func(c paint.Canvas, x, y, atS float64) { c.TennisBall(x, y, r, 2*atS) }
}
