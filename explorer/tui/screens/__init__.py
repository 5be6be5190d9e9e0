"""The screens, one module or package each."""
