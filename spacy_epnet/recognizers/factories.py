"""What the factories of all recognisers have in common."""

# The annotation that they set.
WRITES = ["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"]

# What their training is judged by.
SCORE_WEIGHTS = {"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None}
