"""Files as LangChain documents: PDF, Markdown, text, HTML, DOCX, CSV and XLSX."""

from langchain_ragstore.errors import UnreadableFileError
from langchain_ragstore.loaders.file_loader import FileLoader, LoadedFile, load_files
from langchain_ragstore.loaders.files import find_files

__all__ = ["FileLoader", "LoadedFile", "UnreadableFileError", "find_files", "load_files"]
