"""Write a toy corpus: a source and a target domain with different types.

    python assets/toy/generate.py assets/toy

Sentences are put together from an opening, a core and an ending. Those of
source-dev and target-test use cores and names of their own besides those of
source-train and target-dev, some names belong to two types, and some capitalized
words to none, so that a model can be right or wrong.
"""

import random
import re
import sys
from pathlib import Path

SOURCE_NAMES = {
    "PERSON": """Ada Lovelace; Nelson Mandela; Marie Curie; Frida Kahlo; Washington;
        Austen; Leonard Bernstein; Rosa Parks; Ibn Battuta; Clara Schumann; Lincoln;
        Simone de Beauvoir; Akira Kurosawa; Miriam Makeba; Grace; Charlotte;
        Wangari Maathai; Hokusai; Amelia Earhart; J. R. R. Tolkien; Darwin; Florence;
        Pablo Neruda; Toni Morrison; Sofia; Ludwig van Beethoven; Jackson; Nina Simone;
        Jorge Luis Borges; Dr. Patel; Mayor Lindqvist; Captain Okafor; Judge Moreno""",
    "ORGANIZATION": """Amazon; the Red Cross; Toyota; the World Bank; Siemens; Nokia;
        Oxford University; the United Nations; Greenpeace; Deutsche Bahn; Lincoln;
        the Bolshoi Ballet; Doctors Without Borders; Nintendo; the Guardian; Petrobras;
        Harvard; the Royal Society; Air France; Tata Steel; the Labour Party; Ericsson;
        the Berlin Philharmonic; Real Madrid; the Supreme Court; Unilever; Lego;
        the City Council; Northern Rail; Bright Harbour Ltd; the Teachers' Union""",
    "CITY": """Paris; Nairobi; Buenos Aires; Kyoto; Lagos; Florence; Lincoln; Sofia;
        Washington; Mexico City; Reykjavik; Jakarta; Montreal; Cairo; Cape Town;
        Tallinn;
        San Francisco; Mumbai; Porto; Charlotte; Jackson; Ho Chi Minh City; Seville;
        Dar es Salaam; Gdansk; Havana; Auckland; St. Louis; Marrakesh; Bergen""",
    "LANDMARK": """the Amazon; Mount Fuji; the Danube; the Sahara; Lake Victoria;
        the Eiffel Tower; the Golden Gate Bridge; Kilimanjaro; the Great Wall;
        the Rhine;
        the Colosseum; Table Mountain; the Dead Sea; the Brandenburg Gate; the Nile;
        Loch Ness; the Grand Canyon; the Matterhorn; the Baltic; Sugarloaf Mountain;
        the Old Harbour; Victoria Falls; the Charles Bridge; the Yangtze""",
    "WORK": """Emma; Hamlet; The Lord of the Rings; Seven Samurai; Beloved; Aida;
        One Hundred Years of Solitude; The Magic Flute; Frida; Casablanca; Dracula;
        The Old Man and the Sea; West Side Story; Jane Eyre; Swan Lake; Guernica;
        Things Fall Apart; Spirited Away; The Great Wave; Carmen; The Odyssey;
        Pride and Prejudice; The Third Man; The Four Seasons; Faust""",
    "EVENT": """the World Cup; Eurovision; the Olympic Games; the Frankfurt Book Fair;
        Carnival; the Boston Marathon; Diwali; the Tour de France; the G20 summit;
        the Battle of Hastings; Hanami; the Cannes Film Festival; Wimbledon;
        the French Revolution; the Spring Regatta; the Edinburgh Fringe;
        the Harvest Market; the Long Night of Museums; Expo 67; the Night Run""",
}

SOURCE_CORES = """
{PERSON} spoke to the press in {CITY}
{ORGANIZATION} will open a second office in {CITY}
{PERSON} left {ORGANIZATION} after nine years
nobody at {ORGANIZATION} had heard of {PERSON}
a new staging of {WORK} sold out in {CITY}
{PERSON} was reading {WORK} on the train
they sailed up {LANDMARK} with {PERSON} at the helm
the view of {LANDMARK} from the hotel was poor
{EVENT} brings thousands of visitors to {CITY}
{ORGANIZATION} paid for {EVENT} again
tickets for {EVENT} cost more than last year
the judges compared {WORK} with {WORK}
{PERSON} , {PERSON} and {PERSON} shared the prize
{CITY} and {CITY} are to be linked by a night train
police in {CITY} closed the road to {LANDMARK}
critics called {WORK} long and {PERSON} brilliant
{ORGANIZATION} denied that it had sued {ORGANIZATION}
the ferry from {CITY} passes {LANDMARK} at dawn
{PERSON} grew up near {LANDMARK}
a letter from {PERSON} to {PERSON} was found in {CITY}
{ORGANIZATION} bought the rights to {WORK}
during {EVENT} , {PERSON} lost a shoe
the weather was mild and nobody complained
the second half of the report is about costs
both drivers were unhurt , and the road was open again by noon
she asked for more time and was given a week
prices rose by three per cent in the spring
"""

SOURCE_NEW_CORES = """
{PERSON} flew from {CITY} to {CITY} for {EVENT}
{ORGANIZATION} named a hall after {PERSON}
a storm over {LANDMARK} kept {ORGANIZATION} busy
{PERSON} first saw {WORK} during {EVENT}
{CITY} beat {CITY} in front of {PERSON}
the museum in {CITY} lent {WORK} to {ORGANIZATION}
{EVENT} was moved from {CITY} to the foot of {LANDMARK}
the committee met twice and decided nothing
"""

SOURCE_OPENINGS = """
on Monday
last night
according to {ORGANIZATION}
to everyone's surprise
in the summer of 1987
despite the rain
as {PERSON} put it
not far from {LANDMARK}
in short
for the first time since March
"""

SOURCE_ENDINGS = """
, the English edition says
, said {PERSON}
while the band played on
before returning to {CITY}
, but the plan was dropped
with a budget of two million
, which surprised {ORGANIZATION}
after {EVENT}
and the story ends there
, a spokesman confirmed on Friday
"""

TARGET_NAMES = {
    "SPACECRAFT": """Voyager 1; Cassini; the Hubble Space Telescope; Apollo 11; Juno;
        Rosetta; Galileo; Mercury; Sputnik 1; New Horizons; Soyuz; Crew Dragon;
        the International Space Station; Hayabusa2; Curiosity; Mir; Kepler; Philae;
        Chang'e 5; Parker Solar Probe; BepiColombo; Vostok 1; Tianwen-1; Atlantis""",
    "BODY": """Mars; Europa; the Moon; Jupiter; Titan; Mercury; Ceres; Halley's Comet;
        Venus; Enceladus; Pluto; Proxima Centauri; Saturn; Betelgeuse; Ganymede; Vesta;
        the Andromeda Galaxy; Neptune; Io; Sirius; Ryugu; the Sun; Triton; Uranus""",
    "AGENCY": """NASA; ESA; Roscosmos; JAXA; the Indian Space Research Organisation;
        SpaceX; the Canadian Space Agency; CNES; Blue Origin; Arianespace; DLR;
        the European Southern Observatory; Rocket Lab; Boeing; the Planetary Society;
        the Jet Propulsion Laboratory; the Italian Space Agency; Galileo Industries""",
    "ASTRONAUT": """Neil Armstrong; Valentina Tereshkova; Yuri Gagarin; Sally Ride;
        Chris Hadfield; Mae Jemison; Buzz Aldrin; Peggy Whitson; Samantha Cristoforetti;
        Alexei Leonov; John Glenn; Yang Liwei; Kalpana Chawla; Scott Kelly; Armstrong;
        Christina Koch; Thomas Pesquet; Commander Whitson; Michael Collins""",
    "INSTRUMENT": """the mass spectrometer; the wide-field camera; the magnetometer;
        the sample drill; the laser altimeter; the plasma detector; the star tracker;
        the infrared spectrograph; the dust analyser; the ground radar; the gyroscopes;
        the ultraviolet imager; the robotic arm; the seismometer; the heat probe""",
    "SITE": """Cape Canaveral; Baikonur; Kourou; Vandenberg; Tanegashima; Jiuquan;
        the Kennedy Space Center; Wallops Island; Plesetsk; Sriharikota; Boca Chica;
        Launch Complex 39A; Vostochny; Mahia; the Guiana Space Centre""",
}

TARGET_CORES = """
{AGENCY} lost contact with {SPACECRAFT} near {BODY}
{SPACECRAFT} took off from {SITE} at dawn
{ASTRONAUT} repaired {INSTRUMENT} by hand
{ASTRONAUT} spent six months aboard {SPACECRAFT}
{INSTRUMENT} on {SPACECRAFT} failed without warning
the ice of {BODY} may hide an ocean
{AGENCY} and {AGENCY} share the data from {INSTRUMENT}
{SPACECRAFT} photographed {BODY} and {BODY}
fog delayed the launch at {SITE}
{ASTRONAUT} and {ASTRONAUT} trained at {SITE}
{AGENCY} wants to land {SPACECRAFT} on {BODY}
the orbit of {BODY} is known to the metre
engineers at {AGENCY} tested {INSTRUMENT} for weeks
{SPACECRAFT} passed {BODY} in 1989
{ASTRONAUT} was the first to leave {SPACECRAFT}
the fuel was loaded on Tuesday and drained on Friday
nothing moved on the screens for an hour
the crew slept through most of the second day
"""

TARGET_NEW_CORES = """
{SPACECRAFT} carries {INSTRUMENT} and {INSTRUMENT} to {BODY}
{AGENCY} moved the flight of {ASTRONAUT} from {SITE} to {SITE}
dust from {BODY} covered {INSTRUMENT}
{ASTRONAUT} waved to {AGENCY} from the window of {SPACECRAFT}
the shadow of {BODY} crossed {BODY}
the count was stopped at nine seconds
"""

TARGET_OPENINGS = """
in March
two hours later
according to {AGENCY}
on the far side of {BODY}
after a quiet night at {SITE}
this time
with {ASTRONAUT} in command
"""

TARGET_ENDINGS = """
, {ASTRONAUT} recalled
, the German team reported
but {INSTRUMENT} kept working
before turning towards {BODY}
, said {AGENCY}
for reasons that are still unclear
, as seen from {SITE}
"""

FILES = {
    "source-train": (400, "known"),
    "source-dev": (100, "both"),
    "target-dev": (150, "known"),
    "target-test": (200, "both"),
}


def make_sentences(domain, count, share, seen, rng):
    """Make sentences of a domain that are all different.

    domain (Tuple): Names by type, and the parts of sentences.
    count (int): How many.
    share (str): "known" for names and cores of the training data, "both" for those
        that are kept from it as well.
    seen (Set[str]): Sentences made before, which is added to.
    rng (random.Random): Where chance comes from.
    RETURNS (List[List[Tuple[str, str]]]): Sentences of words and BIO tags.
    """
    names, cores, new_cores, openings, endings = domain
    if share == "known":
        names = {label: split_names(group)[0] for label, group in names.items()}
    else:
        names = {
            label: [*split_names(group)[0], *split_names(group)[1]]
            for label, group in names.items()
        }
        cores = cores + 3 * new_cores
    sentences = []
    while len(sentences) < count:
        parts = [rng.choice(cores)]
        if rng.random() < 0.35:
            parts.insert(0, rng.choice(openings) + " ,")
        if rng.random() < 0.35:
            parts.append(rng.choice(endings))
        sentence = fill(" ".join([*parts, "."]), names, rng)
        text = " ".join(word for word, _ in sentence)
        if text not in seen:
            seen.add(text)
            sentences.append(sentence)
    return sentences


def split_names(names):
    """Part the names of a type into those to train on and those kept back."""
    kept_back = names[::4]
    return [name for name in names if name not in kept_back], kept_back


def fill(template, names, rng):
    """Put names into a template and tag every word."""
    sentence = []
    for part in re.split(r"(\{\w+\})", template):
        label = part.strip("{}") if part.startswith("{") else None
        if label is None:
            sentence += [(word, "O") for word in part.split()]
            continue
        words = rng.choice(names[label]).split()
        # An article stands before a name and isn't part of it, but in titles it is.
        if words[0] == "the":
            sentence.append((words.pop(0), "O"))
        sentence += [
            (word, f"{'I' if i else 'B'}-{label}") for i, word in enumerate(words)
        ]
    first, tag = sentence[0]
    return [(first[0].upper() + first[1:], tag), *sentence[1:]]


def read_list(text, separator):
    return [" ".join(item.split()) for item in text.split(separator) if item.strip()]


def read_domain(names, *parts):
    by_label = {label: read_list(group, ";") for label, group in names.items()}
    return by_label, *(read_list(part, "\n") for part in parts)


def main(folder):
    domains = {
        "source": read_domain(
            SOURCE_NAMES,
            SOURCE_CORES,
            SOURCE_NEW_CORES,
            SOURCE_OPENINGS,
            SOURCE_ENDINGS,
        ),
        "target": read_domain(
            TARGET_NAMES,
            TARGET_CORES,
            TARGET_NEW_CORES,
            TARGET_OPENINGS,
            TARGET_ENDINGS,
        ),
    }
    seen = set()
    for name, (count, share) in FILES.items():
        domain = domains[name.split("-")[0]]
        sentences = make_sentences(domain, count, share, seen, random.Random(name))
        lines = ["\n".join(f"{word}\t{tag}" for word, tag in s) for s in sentences]
        text = "\n\n".join(lines) + "\n"
        (folder / f"{name}.iob").write_text(text, encoding="utf8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
