// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

// The facts compiled into the program, by subject ("cuda", "gpus"): the files of data/. The rest of
// the program uses the typed accessors in this folder.
namespace ncclprobe::knowledge {

// The text of data/<name>.json; empty for an unknown name.
std::string_view embedded_text(std::string_view name);

// A part of it, parsed. Throws std::logic_error for an unknown name, which is a bug.
nlohmann::json section(std::string_view name, const char* part);

struct Citation {
  std::string key;
  std::string url; // empty if the fact comes from a table without its own address
  std::string what;
  std::string grade; // "primary", "secondary", "measured", "weak"
};

// The sources that facts name by key.
const std::vector<Citation>& sources();
// Its address if it has one, else its description. "key/page" is a page of it, and a key that is
// not in the table is itself an address.
std::string source_text(const std::string& key);

// The newest source of the tables ("2026-08-22"): they do not contain later facts.
const std::string& tables_date();
// The same for people: "2026-08-22; newer releases are unknown".
std::string tables_are_of();

} // namespace ncclprobe::knowledge
