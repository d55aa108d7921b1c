// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

// Facts that follow from other facts of a host. Readers call these after reading everything.
namespace ncclprobe::topology {

// Gives GPUs with the index -1 the free numbers, in order of bus ids as
// CUDA_DEVICE_ORDER=PCI_BUS_ID does, and sorts all by number.
void number_gpus(Host& host);

// Adds a NIC without a name for each PCI network adapter that no NIC of the list represents,
// numbered after the others; sorts all by number.
void add_unnamed_nics(Host& host);

// Gives GPUs of models without NVLink an empty list of links if no source has a list.
void add_absent_nvlinks(Host& host);

// From its name and PCI ids; unknown if they are not sufficient.
Fact<NicKind> nic_kind(const Host& host, const Nic& nic);

// Its name for users, else its bus id.
std::string nic_label(const Nic& nic);

// A host's name, else its id, else its position among the hosts.
std::string host_label(const Host& host, std::size_t position);

} // namespace ncclprobe::topology
