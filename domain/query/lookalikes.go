package query

// lookalikes are English words one slip away from a word that is mended, with the same
// first letter. They mean what they say and are never touched.
var lookalikes = set(`
	abode airline ample appeal apply automobiled bandana battle beach bedside beech belch betide
	bicycled blank blench block blown bottled brawn brownies brows bunch canoed canon canter castle
	censer chain chile chili chilies chill chock choir clack click cloak cloches cloned closer closet
	cloyed cluck commuter compute computed cough counties county court crock crouch currying cycled
	deriving diving dodgy doggier dogie easing eighth elating failing felling filling flowed flowery
	footfall fringe frond frost fruity fulling furry gasses glads glassed glassy gloss grass greed
	greet hoarse holing hooding horde hording horsed horsey horsy house humane insider jacked knifed
	leapt lease lefties lefty lent lept lest loft mane mangy manly meddle microwaved minuets minuses
	minuted minuter minutest mooed moose mopes mopped motile motorbiked motorcycled moused mouser
	mousey mousse mousy moved mowed muddle multiplex multiplexes multiplies multiply myna numbed
	outsider outsize packed pared parred parse parsed parson parted paying pease peopled peppy perked
	persona phoned phoney phony piazza place placing plaint plait planed planing plate plating pleas
	pleased pliant plying poppy praying prone pulpy pulse puree purge purpler pursed purser pursue
	racked raining raisin remoter remove ricing rickets ridding ridging riling riming rocket ruining
	sanding scooted seeping setter setting settle sever sheen sheer sheet shift shimming shire shirk
	shirr shlep shoon shooter shove sifting silting siting skimming sleeking sleep sleeting slimming
	slitting snoop spitting spoof spook spool spoor spotlight stave steep steeping stoke stole stone
	store stranding strove sweep sweeping swoon tabled tablet tally taster teenage teenaged telephoned
	telephony thee theme throe toasted toastier toddle toddled toddy toiled toiler track trail trait
	trick truce trunk twain udder vesicle vireo wading waging waiving walling waning waxing weals
	weaning weans wearies weary wearying weirs whet whew whey whine whiten whiter whither whits width
	wish witch witches wits world wound wren
`)
