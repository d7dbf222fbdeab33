"""A small file in each format, and what tests read of docs."""

BIO = """Ada\tB-PER
Lovelace\tI-PER
met\tO
Bob\tB-PER

nobody\tO

in\tO
Paris\tB-LOC
"""
CONLL2012 = """#begin document (bc/cctv/00/cctv_0000); part 000
bc/cctv/00/cctv_0000 0 0 The DT (TOP(NP* - - - spk * * -
bc/cctv/00/cctv_0000 0 1 Hong NNP * - - - spk (ORG(GPE* * -
bc/cctv/00/cctv_0000 0 2 Kong NNP * - - - spk *) * -
bc/cctv/00/cctv_0000 0 3 Bank NNP *) - - - spk *) * -
bc/cctv/00/cctv_0000 0 4 2004 CD * - - - spk (DATE) * (0)

bc/cctv/00/cctv_0000 0 0 Paris NNP * - - - spk (GPE) * -

#end document
#begin document (bc/cctv/00/cctv_0000); part 001
bc/cctv/00/cctv_0000 1 0 Yes UH * - - - spk * * -

#end document
"""
I2B2 = """<?xml version="1.0" encoding="UTF-8" ?>
<deIdi2b2>
<TEXT><![CDATA[Record date: 2067-05-03

Mr. Ng was seen by Dr. X. Oliveira-Smith. Call 5551234x99.
]]></TEXT>
<TAGS>
<DATE id="P0" start="13" end="23" text="2067-05-03" TYPE="DATE" comment="" />
<NAME id="P1" start="29" end="31" text="Ng" TYPE="PATIENT" comment="" />
<NAME id="P2" start="48" end="65" text="X. Oliveira-Smith" TYPE="DOCTOR" comment="" />
<CONTACT id="P3" start="72" end="79" text="5551234" TYPE="PHONE" comment="" />
</TAGS>
</deIdi2b2>
"""
TEXT = "Ada lives in Paris."
JSON = {
    "prodigy": {
        "text": TEXT,
        "spans": [
            {"start": 0, "end": 3, "label": "PER", "token_start": 0},
            {"start": 13, "end": 18, "label": "LOC"},
        ],
        "answer": "accept",
    },
    "doccano": {"id": 1, "text": TEXT, "label": [[0, 3, "PER"], [13, 18, "LOC"]]},
    "doccano entities": {
        "text": TEXT,
        "entities": [
            {"id": 1, "label": "PER", "start_offset": 0, "end_offset": 3},
            {"id": 2, "label": "LOC", "start_offset": 13, "end_offset": 18},
        ],
    },
    "label studio": {
        "data": {"text": TEXT},
        "annotations": [
            {"was_canceled": True, "result": []},
            {
                "result": [
                    {"type": "choices", "value": {"choices": ["x"]}},
                    {
                        "type": "labels",
                        "value": {"start": 0, "end": 3, "labels": ["PER"]},
                    },
                    {
                        "type": "labels",
                        "value": {"start": 13, "end": 18, "labels": ["LOC"]},
                    },
                ]
            },
        ],
    },
    "label studio short": {
        "text": TEXT,
        "label": [
            {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]},
            {"start": 13, "end": 18, "text": "Paris", "labels": ["LOC"]},
        ],
    },
    "spaces at the edges": {"text": TEXT, "label": [[0, 4, "PER"], [12, 18, "LOC"]]},
}


def get_ents(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]


def get_words(docs):
    return [[token.text for token in doc] for doc in docs]
