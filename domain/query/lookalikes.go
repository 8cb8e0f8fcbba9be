package query

// lookalikes are English words one slip away from a word of the COCO vocabulary with
// the same first letter. They mean what they say and are never mended.
var lookalikes = set(`
	airline ample apply automobiled bandana battle beach beech belch bicycled blench bottled bunch canoed
	canon castle chain chile chili chill chock choir clack click cloak cluck commuter compute computed cough
	crock crouch cycled dodgy doggier dogie flowed flowery footfall fringe fruity furry glassy gloss grass
	hoarse horde horsed horsey horsy house humane knifed microwaved mooed moose mopped motile motorbiked
	motorcycled moused mouser mousey mousse mousy moved mowed parse parson peopled peppy persona phoned
	phoney phony piazza place plaint plait planed plate pliant poppy prone pulpy pulse puree purge pursed
	purser pursue racked remoter remove rocket scooted setter settle sheen sheer sheet shlep shoon shooter
	shove sleep snoop spoof spook spool spoor spotlight stave steep stoke stole stone store strove sweep
	swoon tabled tablet tally taster teenage teenaged telephoned telephony toasted toastier toddle toddled
	toddy toiled toiler track trail trait trick truce trunk twain vesicle
`)
