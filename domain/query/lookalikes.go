package query

// lookalikes are English words that are one edit away from a known word and have the same first
// letter. Spelling correction never changes them.
var lookalikes = set(`
	abode airline airlines ample appeal apply automobiled baker bandana battle beach bedside beech
	belch betide bicker bicycled biked biter blank blench block blown bootie bottled brawn brownies
	brows bunch canoed canon canter castle censer chain chile chili chilies chill chock choir clack
	click cloak cloches cloned closer closet cloyed cluck cocker commuter compute computed cooler
	corker cough counties county court crock crouch crowed crown currying cycled dance danced dander
	danger danker deriving diving dodgy doggier dogie eaglet easing eighth elating failing felling
	filling flowed flowery footfall fringe frond frost fruity fulling furry gasses glads glassed
	glassy gloss goosed gorse grass greed greet hoarse holing hooding horde hording horsed horsey
	horsy house humane insider jacked knifed leapt lease lefties lefty lent lept lest loft mane mangy
	manly meddle microwaved minuets minuses minuted minuter minutest mooed moose mopes mopped motile
	motorbiked motorcycled moused mouser mousey mousse mousy moved mowed muddle multiplex multiplexes
	multiplies multiply myna numbed nursed outsider outsize packed pared parred parse parsed parson
	parted payer paying pease peopled peppy perked persona phoned phoney phony piazza place placer
	placing plaint plait planed planing plate plating played pleas pleased pliant plying poppy prayer
	praying prone pulpy pulse puree purge purpler pursed purser pursue racked raider raining raisin
	remoter remove ricing rickets ridding ridging riling riming riper riser rocket ruder ruining
	sanding scooted seeping setter setting settle sever sheen sheer sheet shift shimmer shimming
	shipper shire shirk shirr shlep shoon shooter shopped shove sifting signer silting simmer singe
	singed sinker sinner siting skateboarded skied skimming sleeking sleep sleeting slier slimmer
	slimming slitting snoop snowboarded solder spitting spoof spook spool spoor spotlight stave steep
	steeping stinger stoke stole stone stopper store stranding strove suffer surer surfed sweep
	sweeping swinger swoon tabled tablet tally taster teaches teenage teenaged telephoned telephony
	thee theme throe toasted toastier toddle toddled toddles toddy toiled toiler tourism track trail
	trait trick truce trunk twain udder vesicle vireo wading waging waited waiver waiving walling
	waning waster water waxing weals weaning weans wearies weary wearying weirs whet whew whey whine
	whiten whiter whither whits width wish witch witches wits worked world wound wren writer
`)
