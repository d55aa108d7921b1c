// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_form.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace ncclprobe;
using store::ColumnForm;

namespace {

// docs/run-file-tables.md
std::string document() {
  static constexpr const char* k_numbers[] = {"u8", "i32", "u32", "i64", "u64", "f64"};
  std::string text =
      "# Tables of a run file\n\n"
      "[Run files](run-files.md) shows how to read these tables. This page is generated from the "
      "program's types; a test checks that it is current.\n\n"
      "A `text` is a u32, the row in `/strings`; a `choice` is a u8 with the attribute `labels`; "
      "`?` marks columns whose values can be\nabsent (attribute `missing`). Lists of ranks are "
      "texts such as `0,1,5`. Other lists and nested structures are JSON texts.\n";
  for (const store::TableForm& table : store::run_form().tables) {
    text += fmt::format("\n## /{}\n\n{}\n\n| column | type | meaning |\n|---|---|---|\n",
                        table.name, table.about);
    for (const ColumnForm& one : table.columns) {
      const char* type = one.holds == ColumnForm::Holds::texts ? "text"
                         : !one.labels.empty()                 ? "choice"
                                               : k_numbers[static_cast<std::size_t>(one.number)];
      text +=
          fmt::format("| `{}` | {}{} | {} |\n", one.name, type, one.missing ? "?" : "", one.about);
    }
  }
  return text;
}

} // namespace

TEST_CASE("docs/run-file-tables.md lists the tables of the program") {
  support::check_document("docs/run-file-tables.md", document());
}
