// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Has precompiled.h compiled, and is nothing itself (Layers.cmake).
