"""Small files of the packed formats, made by hand."""

import io
import zipfile

import openpyxl

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def make_pdf(pages, title=None, labels=None, content=None):
    """A PDF with a line of ASCII on each page; an empty line leaves the page blank."""
    bodies = {1: b"<< /Type /Catalog /Pages 2 0 R %s >>" % (labels or b"")}
    kids = " ".join(f"{5 + 2 * at} 0 R" for at in range(len(pages)))
    bodies[2] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode()
    bodies[3] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    bodies[4] = b"<< /Title %s >>" % _pdf_text(title) if title else b"<< >>"
    for at, line in enumerate(pages):
        stream = content or (
            b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % line.encode() if line else b""
        )
        bodies[5 + 2 * at] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (6 + 2 * at)
        )
        bodies[6 + 2 * at] = b"<< /Length %d >>\nstream\n%s\nendstream" % (
            len(stream),
            stream,
        )
    data = bytearray(b"%PDF-1.7\n")
    places = {}
    for number, body in sorted(bodies.items()):
        places[number] = len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    data += b"".join(b"%010d 00000 n \n" % places[number] for number in sorted(places))
    data += b"trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\n" % (len(bodies) + 1)
    return bytes(data + b"startxref\n%d\n%%%%EOF\n" % start)


def _pdf_text(text):
    return (
        b"<%s>" % (b"\xfe\xff" + text.encode("utf-16-be", "surrogatepass")).hex().encode()
    )


def encrypted(pdf, password, algorithm="RC4-128"):
    import pypdf

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf))
    writer.encrypt(password, "owner", algorithm=algorithm)
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def zipped(parts):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return stream.getvalue()


def paragraph(text, style=None):
    style = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{style}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def table(*rows):
    cells = ["".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows]
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def make_docx(body, title=None):
    """A Word document of WordprocessingML paragraphs and tables."""
    names = {"Title": "Title", "Heading1": "heading 1", "Heading2": "heading 2"}
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{id}"><w:name w:val="{name}"/></w:style>'
        for id, name in names.items()
    )
    core = f"<dc:title>{title}</dc:title>" if title else ""
    word = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="{word}.document.main+xml"/><Override PartName="/word/styles.xml" ContentType="{word}.styles+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
            "word/styles.xml": f'<w:styles xmlns:w="{W}">{styles}</w:styles>',
            "docProps/core.xml": f'<cp:coreProperties xmlns:cp="{PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">{core}</cp:coreProperties>',
        }
    )


def make_xlsx(sheets, title=None, change=None):
    """A workbook of `{sheet: rows}`; `change(book)` may alter it before it is saved."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    book.properties.title = title
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    if change:
        change(book)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def with_part(data, name, alter):
    """An archive with one part altered."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {entry: archive.read(entry) for entry in archive.namelist()}
    return zipped(parts | {name: alter(parts[name])})


def ole(encrypted=False):
    entry = "EncryptedPackage" if encrypted else "WordDocument"
    return OLE + bytes(1016) + entry.encode("utf-16-le") + bytes(480)
