"""Rows of measurements as JSON lines in a file: a run that was stopped goes on."""
import json
import subprocess


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file and file.exists() else []


class Results:
    """Rows by `key`, those of the file among them that were asked for in the same way: options that decide what is measured. Rows know what
    program was measured; one may be slower than the next."""

    def __init__(self, file, key, asked, program):
        self.file, self.key, self.asked = file, key, {name: str(value) for name, value in asked.items() if value}
        self.program = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        self.rows = {row[key]: row for row in read(file) if row.get("asked") == self.asked}

    def __contains__(self, name):
        return name in self.rows

    def __getitem__(self, name):
        return self.rows[name]

    def add(self, row):
        row = self.rows[row[self.key]] = {**row, "asked": self.asked, "program": self.program}
        if self.file:
            with self.file.open("a") as file:
                print(json.dumps(row), file=file)

    def print_programs(self, names):
        """Where rows are not all of the one that is there."""
        found = sorted({self.rows[name]["program"] for name in names if name in self.rows} | {self.program})
        if len(found) > 1:
            print(f"Measured: {', '.join(found)}")
