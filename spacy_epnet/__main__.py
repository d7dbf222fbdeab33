from spacy_epnet.cli import epnet_cli

if __name__ == "__main__":
    epnet_cli(prog_name="python -m spacy_epnet")
