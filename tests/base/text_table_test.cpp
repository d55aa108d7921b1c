// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/text_table.h"
#include "support/catch.h"

#include <stdexcept>

using ncclprobe::base::TextTable;

TEST_CASE("columns are as wide as their widest cell, right-aligned unless said otherwise") {
  TextTable table({{"size"}, {"setting", TextTable::Align::left}, {"us"}});
  table.add_row({"1K", "default", "11.30"});
  table.add_row({"1048576", "LL", "9.1"});

  CHECK(table.render() == "   size  setting     us\n"
                          "     1K  default  11.30\n"
                          "1048576  LL         9.1\n");
}

TEST_CASE("lines are indented and end without blanks") {
  TextTable table({{"a", TextTable::Align::left}, {"note", TextTable::Align::left}});
  table.add_row({"x"});

  CHECK(table.render(2) == "  a  note\n"
                           "  x\n");
}

TEST_CASE("a table without rows is its titles") {
  CHECK(TextTable({{"size"}, {"us"}}).render() == "size  us\n");
}

TEST_CASE("columns that hold nothing but one cell can be left out") {
  TextTable table({{"GPU"}, {"model"}, {"CC"}, {"ECC"}});
  table.add_row({"0", "?", "9.0", "?"});
  table.add_row({"1", "?", "?", "?"});

  CHECK(table.leave_out_columns_of("?") == std::vector<std::string>{"model", "ECC"});
  CHECK(table.render() == "GPU   CC\n"
                          "  0  9.0\n"
                          "  1    ?\n");
  CHECK(TextTable({{"size"}}).leave_out_columns_of("?").empty());
}

TEST_CASE("a table of many columns is shown in blocks that fit") {
  TextTable table({{"", TextTable::Align::left}, {"GPU0"}, {"GPU1"}, {"NIC0"}});
  table.add_row({"GPU0", "X", "NV18", "PIX"});
  table.add_row({"GPU1", "NV18", "X", "SYS"});

  CHECK(table.render_within(16) == "      GPU0  GPU1\n"
                                   "GPU0     X  NV18\n"
                                   "GPU1  NV18     X\n"
                                   "\n"
                                   "      NIC0\n"
                                   "GPU0   PIX\n"
                                   "GPU1   SYS\n");
  CHECK(table.render_within(22) == table.render());
}

TEST_CASE("more cells than columns is a defect of the caller") {
  TextTable table({{"a"}});

  CHECK_THROWS_AS(table.add_row({"1", "2"}), std::logic_error);
}

TEST_CASE("width counts characters, not bytes") {
  TextTable table({{"t"}, {"u"}});
  table.add_row({"\xc2\xb5s", "1"}); // a micro sign has two bytes
  table.add_row({"ms", "2"});

  CHECK(table.render() == " t  u\n"
                          "\xc2\xb5s  1\n"
                          "ms  2\n");
}

TEST_CASE("a cell is one line, and no terminal obeys it") {
  TextTable table({{"name", TextTable::Align::left}, {"x"}});
  table.add_row({"a\nb\x1b[31mc\xe2\x80\xae", "1"});

  CHECK(table.render() == "name   x\n"
                          "a?bc?  1\n");
}
