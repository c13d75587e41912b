"""Words that decide whether others are a name: particles and degrees in it, affiliations and places that are none."""

__all__ = ["DEGREES", "GENERATIONS", "NO_NAMES", "PARTICLES", "PLACES"]

PARTICLES = frozenset(
    """
    al bin da das de del della den der des di do dos du el ibn la las le los st ten ter van vom von y zu zum zur
    """.split()  # noqa: SIM905 - a list of so many would fill the page
)
GENERATIONS = frozenset(["jr", "sr", "ii", "iii", "iv"])
DEGREES = frozenset(
    """
    aaai acm bsc dphil drph dsc esq facc faha fellow frcp frcpath frs ieee mbbs md member mph mrcp msc phd scd senior
    siam student
    """.split()  # noqa: SIM905 - as above
)
"""Degrees and memberships printed after a name, without points."""
NO_NAMES = frozenset(
    """
    abstract academie academy accepted address affairs after against agency ai algorithms all an analysis and applied
    approach archive are article articles artificial as asia assistant associate association at author authors
    available ave avenue berkeley between beyond biology biomedical brain building bureau by california cambridge
    campus canada care cedex center centre centro chair chemistry china city clinic cloud college committee
    communicated communications community company computation computer computing conference contact contents copyright
    corp corporation correspondence corresponding council data deepmind demo departamento departement department dept
    design development division draft ecole edited editor editors electronics email engineering epidemiology equal
    escola escuela eth europe extended facebook facolta factor faculdade facultad faculty federal figure for foundation
    france from general genetics germany gmbh google government graduate group health high hochschule hogskola hospital
    how ibm impact in inc india indian informatica informatics information infrastructure innovation inria institut
    institute institutes institution instituto integrated integrative intelligence intelligent international into
    introduction investigation is issue istituto italy japan journal keywords klinik klinikum korea lab laboratoire
    laboratoires laboratories laboratory labs language learning letters library limited llc llp ltd machine management
    massachusetts materials mathematical mathematics medical medicine meta method methods microsoft ministry model
    models museum national nationale nature nazionale network networks neural normale notes nvidia of office on open
    openai optimization organization original oxford paper pennsylvania perspective physics planck politecnico
    polytechnic polytechnique preprint princeton proceedings process program project projects public published quality
    quantum received regional report reports research review revised road samsung school schools science sciences
    scientific search security senior service services singapore social society software solutions spain speech
    stanford state statistics street studies study submitted superieure supplementary surgery sweden switzerland system
    systems taiwan team technical technion technique techniques technische technologies technology tekniska texas the
    their theoretical theory thesis this to tokyo toward towards tutorial unit united universidad universidade
    universita universitaet universitat universite universities university unversity usa using vaccine version via
    vision volume washington web what when why with without work working workshop yale zentrum
    """.split()  # noqa: SIM905 - as above
)
"""Words of affiliations, banners and titles without accents, none of which is part of a name."""
PLACES = frozenset(
    " ".join(place.split())
    for place in """
    adobe|amazon|ann arbor|apple|argentina|australia|austria|baton rouge|belgium|bell laboratories|bell labs|brazil|
    buenos aires|cambridge|cape town|carnegie mellon|chapel hill|chile|college park|colombia|costa rica|croatia|
    czech republic|denmark|egypt|finland|fudan|georgia tech|google brain|great britain|greece|hewlett packard|
    hong kong|hungary|imperial college|intel|iran|ireland|israel|johns hopkins|kuala lumpur|la jolla|las vegas|
    los alamos|los altos|los angeles|malaysia|menlo park|mexico|morocco|mountain view|mozilla|netherlands|new delhi|
    new haven|new jersey|new mexico|new south wales|new york|new zealand|newcastle upon tyne|nigeria|north carolina|
    norway|notre dame|oracle|p r china|pakistan|palo alto|peking|peru|philippines|poland|portugal|pr china|
    puerto rico|redmond|rhode island|rio de janeiro|romania|russia|saint petersburg|salt lake|san diego|san francisco|
    san jose|san mateo|santa barbara|santa clara|santa cruz|santa fe|sao paulo|saudi arabia|serbia|simon fraser|
    slovakia|slovenia|south africa|south carolina|south korea|sri lanka|st louis|st petersburg|sun microsystems|
    tel aviv|texas instruments|thailand|tsinghua|tunisia|turkey|ukraine|vietnam|virginia tech|west lafayette|
    west virginia|xerox parc|yorktown heights|zhejiang
    """.split("|")  # noqa: SIM905 - as above
)
"""Places and houses (a selection), which read like names of people."""
