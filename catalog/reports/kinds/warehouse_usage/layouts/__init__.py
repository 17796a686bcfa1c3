"""The layouts of histories of access, one module for each; `register` names them by the form of an export."""
