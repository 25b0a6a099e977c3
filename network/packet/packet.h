// SPDX-License-Identifier: Apache-2.0
// A packet of the packet model, one cache line, and the pool of all packets of a simulation.
// Packets are referred to by number, not by pointer, and reused last in, first out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace orrery::packet {

constexpr std::uint32_t kNone = 0xffff'ffff;

enum class PacketKind : std::uint8_t {
    data,
    ack,
    nack,     // of a trimmed packet, or of go-back-N
    credit,   // of a receiver (RCCC)
    request,  // of a sender without credit whose retransmission timer fired
};

namespace packet_flag {
constexpr std::uint8_t kMarked = 1;         // ECN; on an ACK: the echo of the mark
constexpr std::uint8_t kTrimmed = 2;        // a full queue cut off the payload
constexpr std::uint8_t kRetransmitted = 4;  // on an ACK: the acknowledged packet was retransmitted
constexpr std::uint8_t kAckRequested = 8;
constexpr std::uint8_t kTrimmedAtLastHop = 16;
constexpr std::uint8_t kControl = 32;  // travels in the switches' control class
constexpr std::uint8_t kNotify = 64;   // on an ACK: carries a congestion notification (CNP)
}  // namespace packet_flag

struct Packet {
    // Time at which the sender emitted it; on an ACK: that of the acknowledged packet
    std::int64_t sent_at = 0;
    std::uint64_t bitmap = 0;  // ACK: bit i is set if packet sack_base() + i has arrived, i < 64
    // ACK: bytes arrived so far; credit: bytes granted so far; data: bytes wanted
    std::int64_t bytes_total = 0;
    std::uint32_t flow = 0;
    std::uint32_t sequence = 0;     // packet number in its flow; on an ACK: the acknowledged packet
    std::uint32_t cumulative = 0;   // ACK: all packets before this one have arrived
    std::uint32_t destination = 0;  // host
    std::uint32_t next = kNone;     // in its queue, or in the pool
    std::uint32_t previous = kNone;  // in its queue, unless it is the head
    std::uint32_t port = kNone;      // port at which it waits, or by which it left last
    std::uint32_t ingress = kNone;   // port through which it entered, for PFC
    std::uint16_t bytes = 0;         // on the wire
    std::uint16_t entropy = 0;       // input of ECMP's hash besides the flow
    PacketKind kind = PacketKind::data;
    std::uint8_t flags = 0;
    std::uint8_t hop = 0;         // links crossed so far
    std::uint8_t num_stamps = 0;  // in-band telemetry stamps

    bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
    std::uint32_t sack_base() const {
        return sequence >= cumulative + 63 ? sequence - 63 : cumulative;
    }
};
static_assert(sizeof(Packet) == 64);

class PacketPool {
public:
    std::uint32_t take() {
        ++live_;
        if (free_ == kNone) {
            add_chunk();
        }
        const std::uint32_t id = free_;
        Packet& packet = (*this)[id];
        free_ = packet.next;
        packet = Packet{};
        return id;
    }
    void give_back(std::uint32_t id) {
        --live_;
        (*this)[id].next = free_;
        free_ = id;
    }
    // References stay valid: packets never move.
    Packet& operator[](std::uint32_t id) { return chunks_[id / kChunk][id % kChunk]; }
    const Packet& operator[](std::uint32_t id) const { return chunks_[id / kChunk][id % kChunk]; }
    std::uint64_t live() const { return live_; }
    std::size_t capacity() const { return chunks_.size() * kChunk; }

private:
    static constexpr std::uint32_t kChunk = 4096;
    void add_chunk() {
        const auto first = static_cast<std::uint32_t>(capacity());
        chunks_.push_back(std::make_unique<Packet[]>(kChunk));
        for (std::uint32_t i = 0; i < kChunk; ++i) {
            chunks_.back()[i].next = i + 1 < kChunk ? first + i + 1 : kNone;
        }
        free_ = first;
    }

    std::vector<std::unique_ptr<Packet[]>> chunks_;
    std::uint32_t free_ = kNone;
    std::uint64_t live_ = 0;
};

}  // namespace orrery::packet
