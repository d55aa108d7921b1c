// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <optional>
#include <string>

namespace ncclprobe::topology {

// Why a machine is impossible, and the element responsible.
struct Contradiction {
  std::string text;    // "two GPUs have the number 0"
  std::string element; // as a JSON pointer into what write_machine_json() makes: "/hosts/0/gpus/1"
};

// Guarantees for all code that takes a Machine: indexes and bus ids are unique within a host,
// parents stand before their children (so there is no cycle), references are valid, and counts are
// plausible. Nothing if the machine is valid.
std::optional<Contradiction> contradiction_in(const Machine& machine);

// The same as an error, invalid_argument: "<name>:1: two GPUs have the number 0". Readers only know
// the line where the machine begins.
Result<void> validate(const Machine& machine, const std::string& name);

// The machine of one host, validated. Errors: as validate()'s.
Result<Machine> machine_of(Host host, const std::string& name);

} // namespace ncclprobe::topology
