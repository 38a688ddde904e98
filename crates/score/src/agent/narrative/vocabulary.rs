//! Lists of words that the rules look at. What a list means is said where it is used; here is only what
//! is in it.

/// Whether a list, with spaces between, has a word.
fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

/// Who does things without an article.
pub(super) fn is_department(word: &str) -> bool {
    has(
        "finance legal support marketing hr engineering security management automation
         cron someone people staff accounting ops it",
        word,
    )
}

/// Months, also cut short.
pub(super) fn is_month(word: &str) -> bool {
    has(
        "january february march april may june july august september october november
         december jan feb mar apr jun jul aug sep oct nov dec",
        word,
    )
}

/// Finite verbs that often follow a noun and what is said of it.
pub(super) fn is_finite(word: &str) -> bool {
    has(
        "fails failed requires required takes took needs helps makes gets shows appears
         appear remains remain works worked caused causes breaks broke leads seems costs
         returned returns show contain contains include includes means goes expire
         expires go stay still get receive need require cost take count belong come
         become fail return trigger qualify incur keep lose look looks cause help make
         matter",
        word,
    )
}

/// Words that begin an instruction, besides the verbs that claim.
pub(super) fn begins_instruction(word: &str) -> bool {
    has(
        "please open click go run restart check navigate select choose enter type try use
         log sign copy paste install ensure verify wait make download save press follow
         reboot",
        word,
    )
}

/// Words after which a clause is told as a fact: `I can confirm that`, `to let you know that`.
pub(super) fn is_report(word: &str) -> bool {
    has(
        "report confirm say inform note announce share tell you know advise assure
         mention glad happy pleased aware hear",
        word,
    )
}

/// Verbs that let something speak: `the log shows`.
pub(super) fn is_telling(word: &str) -> bool {
    has(
        "shows show says say indicates indicate suggests states confirms mentions reports
         reveals notes claims tells explains implies thinks believes seems appears means
         reads proves sees ensures ensure looks",
        word,
    )
}

/// Verbs that do not say that what follows was done.
pub(super) fn is_nonfactive(word: &str) -> bool {
    has(
        "tried try attempted attempt failed fail want wanted plan planned planning
         recommend recommended suggest suggested propose proposed need needed hope hoped
         hoping refuse refused decline declined forgot consider considered considering
         intend intended advise advised avoid avoided skipped prefer going about unable
         ready happy asked waiting expect expected promised offered thought wish meant
         postponed",
        word,
    )
}

/// What makes a clause with its subject behind it only a thought or a saying: `before I deleted it`,
/// `I said I deleted it`.
pub(super) fn is_hypothetical(word: &str) -> bool {
    has(
        "before until till unless if whether lest thought think believe believed assumed
         assume hope hoped wish wished doubt unsure said claimed stated implied pretended",
        word,
    )
}

/// Words that make what follows no fact, or one of the past.
pub(super) fn is_unreal(word: &str) -> bool {
    has(
        "if unless whether please want wants wanted without instead rather failed unable
         tried attempted suggest recommend propose plan planned let once until previous
         previously old former originally no",
        word,
    )
}

/// Names of arguments that are also headings, under which anything may stand.
pub(super) fn is_heading(word: &str) -> bool {
    has(
        "summary note notes result message description details content body text query
         output comment action issue error status update",
        word,
    )
}

/// Words that judge a value, and are none.
pub(super) fn is_judgement(word: &str) -> bool {
    has(
        "fine good great correct wrong right ok okay clear unclear missing required
         optional valid invalid unknown available important long short ready unchanged
         different same empty visible perfect better worse too also still exactly
         necessary mandatory accurate consistent above below everything something nothing
         field value values filter settings",
        word,
    )
}

/// What arguments that take one of few values are called.
pub(super) fn takes_choice(word: &str) -> bool {
    has(
        "status state stage phase visibility mode outcome resolution decision priority
         severity level color colour size role type category environment language
         currency plan tier frequency urgency importance format theme access method unit",
        word,
    )
}

/// Words that are one of few.
pub(super) fn is_choice(word: &str) -> bool {
    has(
        "low medium high highest lowest critical urgent normal minor major blocker
         trivial open opened closed done todo to-do in-progress in-review pending active
         inactive resolved approved rejected draft published archived cancelled canceled
         completed public private internal red green blue yellow black white orange
         purple pink grey gray hourly daily weekly monthly yearly small large asc desc
         ascending descending admin member viewer editor owner guest read write staging
         production development bug feature task new failed success paid unpaid shipped
         delivered refunded standard express premium basic free pro enterprise",
        word,
    )
}

/// `EUR` and the like.
pub(super) fn is_currency(word: &str) -> bool {
    has(
        "USD EUR GBP CHF JPY CAD AUD INR CNY SEK NOK DKK PLN BRL",
        word,
    )
}

/// Whether a word names a time: `this morning`, `every week`.
pub(super) fn is_time_word(word: &str) -> bool {
    has(
        "morning afternoon evening night noon week weeks month months year years day days
         hour hours minute minutes second seconds time times weekend quarter moment
         january february march april june july august september october november
         december",
        word,
    )
}

/// What may stand between the name of an argument and its value: `the priority field is`.
pub(super) fn is_filler(word: &str) -> bool {
    has(
        "field value parameter argument flag option setting line column property
         attribute",
        word,
    )
}

/// Verbs that change a value.
pub(super) fn is_change(word: &str) -> bool {
    has(
        "set setting changed changing updated updating raised raising lowered lowering
         increased increasing decreased bumped switched adjusted reset modified reduced
         extended edited moved upgraded downgraded corrected renamed escalated",
        word,
    )
}

/// Nouns for those who do things themselves.
pub(super) fn is_actor(word: &str) -> bool {
    has(
        "user customer client vendor supplier team manager admin administrator owner
         author maintainer reviewer colleague engineer developer airline bank merchant
         reporter boss store market shop office person hotel company board department
         seller buyer host organizer guest tenant",
        word,
    )
}

/// First names that begin sentences like `Bob posted in #general`.
pub(super) fn is_first_name(word: &str) -> bool {
    has(
        "alice bob carol dave david eve erin frank grace heidi ivan judy john jane james
         mary maria michael mike sarah sara peter paul anna anne tom thomas mark lisa
         laura linda kevin brian chris christine daniel emma emily eric george hannah
         henry jack jason jennifer jessica joe joseph julia karen kate ken kenji kim lee
         leo liam lucas luis maya max mia nina noah oliver olivia omar pablo priya rachel
         raj ravi robert sam samantha simon sofia sophie steve susan tim tina tony victor
         wei william yuki zoe ahmed ali amit ben carlos diana elena fatima hans hugo ines
         jose juan klaus lena marco marie mohammed nadia pierre rosa stefan tara uma vera
         wendy xavier yusuf zara jordan alex",
        word,
    )
}

/// Nouns that only say how much of the thing after `of` there is.
pub(super) fn is_quantity(word: &str) -> bool {
    has(
        "bunch couple number series batch handful pair lot lots total rest majority half
         dozens hundreds thousands copy copies instance instances round kind type sort",
        word,
    )
}

/// What may stand between a verb and its object: `set up the job`, `sent out an invitation`.
pub(super) fn is_particle(word: &str) -> bool {
    has("up out over off back down together along", word)
}

/// Words of a heading under which nothing is told as done by the agent.
pub(super) fn is_unreal_heading(word: &str) -> bool {
    has(
        "next todo to-do remaining pending please need needs plan planned planning
         proposed proposal propose recommend recommended recommendation recommendations
         suggest suggested suggestion suggestions option options steps instructions how
         if try found findings failures errors blocked changelog history commits log
         titles upcoming later says said reads shows lists states mentions contains
         includes describes example examples activity recent timeline from wrote replied
         problem cause reason error bug symptom background context because",
        word,
    )
}

/// Names of arguments that are so common that a word behind them is no value.
pub(super) fn is_common_name(word: &str) -> bool {
    has(
        "message text name body content note comment query key",
        word,
    )
}

/// Words behind a number that compares, and states nothing.
pub(super) fn is_comparative(word: &str) -> bool {
    has("higher lower more less off above below over under", word)
}

/// Nouns that say little: what stands before them says what the thing is.
pub(super) fn is_vague(word: &str) -> bool {
    has(
        "account record file entry item object data document email mail message
         notification invite invitation report request booking resource instance page row
         card profile job post detail information info thing one form copy",
        word,
    )
}

/// What a message does, said behind it: `a comment linking the run`.
pub(super) fn tells_content(word: &str) -> bool {
    has(
        "linking describing explaining saying stating asking confirming noting mentioning
         requesting thanking pointing containing showing detailing outlining summarizing
         summarising announcing informing telling documenting referencing using",
        word,
    )
}

/// Verbs that change a thing by changing a part of it.
pub(super) fn changes_parts(word: &str) -> bool {
    has("update edit patch set", word)
}
