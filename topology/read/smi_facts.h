// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <optional>
#include <string_view>

// nvidia-smi's data about GPUs, under its own names.
namespace ncclprobe::topology {

// The two forms of `nvidia-smi -q`: text, and XML by -x.
enum class SmiForm { text, xml };

// Stores one value of a GPU. `path` is its name after the names of its parents, joined by '/':
// "PCI/GPU Link Info/PCIe Generation/Max", "pci/pci_gpu_link_info/pcie_gen/max_link_gen". Unknown
// paths are skipped.
void take_smi_value(Gpu& gpu, SmiForm form, std::string_view path, std::string_view value);

// "N/A" and similar values are skipped.
bool is_smi_value(std::string_view value);
void set_smi_text(Fact<std::string>& fact, std::string_view value);
// Of "Virtualization Mode".
void set_smi_virtualization(Host& host, std::string_view value);

// The number in front: "700.00 W", "16x", "3201 MHz", "143771 MiB".
std::optional<double> leading_number(std::string_view value);
std::optional<int> leading_int(std::string_view value);

} // namespace ncclprobe::topology
