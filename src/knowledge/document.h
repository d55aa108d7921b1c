// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

// The facts compiled into the program, by theme ("cuda", "gpus"): the files of data/. The typed
// accessors beside this header are what the rest of the program uses.
namespace ncclprobe::knowledge {

// The text of data/<name>.json; empty for an unknown name.
std::string_view embedded_text(std::string_view name);

// A part of it, parsed. Throws std::logic_error for an unknown name: a defect.
nlohmann::json section(std::string_view name, const char* part);

struct Source {
  std::string key;
  std::string url; // empty if the fact comes from a table without an address of its own
  std::string what;
  std::string grade; // "primary", "secondary", "measured", "weak"
};

// The sources that facts name by key.
const std::vector<Source>& sources();
// An address where there is one, else what the source is; "key/page" is a page of it, and a key
// that is not in the table is an address itself.
std::string source_text(const std::string& key);

// The newest source behind the tables ("2026-08-22"): what came later is unknown to them.
const std::string& tables_date();
// The same for people: "2026-08-22; they know nothing newer".
std::string tables_are_of();

} // namespace ncclprobe::knowledge
