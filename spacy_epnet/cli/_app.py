import typer

epnet_cli = typer.Typer(name="epnet", no_args_is_help=True)


@epnet_cli.callback()
def epnet() -> None:
    """Few-shot named entity recognition with EP-Net."""
