// SPDX-License-Identifier: Apache-2.0
// Indices into dense tables, each its own type. `index(id)` is the position in the vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace orrery {

enum class RankId : std::uint32_t {};        // global rank, 0 … num_ranks-1
enum class RoleId : std::uint16_t {};        // ranks that run the same program
enum class SegmentId : std::uint32_t {};     // straight-line op list of a Program
enum class KernelId : std::uint32_t {};      // Program::kernels
enum class CollectiveId : std::uint32_t {};  // Program::collectives
enum class SendRecvId : std::uint32_t {};    // Program::send_recvs
enum class CopyId : std::uint32_t {};        // Program::copies
enum class HostWorkId : std::uint32_t {};    // Program::host_works
enum class TensorId : std::uint32_t {};      // Program::tensors
enum class GroupId : std::uint16_t {};       // Program::groups
enum class LinkId : std::uint32_t {};        // one direction of a link of the fabric
enum class StreamId : std::uint8_t {};       // in-order queue of a device

template <class Id>
requires std::is_enum_v<Id>
constexpr std::size_t index(Id id) {
    return static_cast<std::size_t>(id);
}

template <class Id>
requires std::is_enum_v<Id>
constexpr Id to_id(std::size_t i) {
    return static_cast<Id>(i);
}

}  // namespace orrery
