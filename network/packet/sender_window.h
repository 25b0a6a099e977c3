// SPDX-License-Identifier: Apache-2.0
// The sender's state of each packet from the first unacknowledged one to the last one sent, and the
// receiver's record of packets that arrived out of order. Both are rings whose size grows with the
// reordering, not with the flow.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::packet {

enum class PacketState : std::uint8_t { none, in_flight, lost, arrived };

class SenderWindow {
public:
    SenderWindow() : ring_(16) {}

    PacketState state(std::uint32_t sequence) const {
        return static_cast<PacketState>(ring_[sequence & mask()] & 3);
    }
    bool repeated(std::uint32_t sequence) const { return (ring_[sequence & mask()] & 4) != 0; }
    std::int64_t sent_at(std::uint32_t sequence) const {
        return static_cast<std::int64_t>(ring_[sequence & mask()] >> 3);
    }
    // `first` … `sequence` are in use.
    void sent(std::uint32_t first, std::uint32_t sequence, std::int64_t now, bool again) {
        while (sequence - first >= ring_.size()) {
            grow(first);
        }
        ring_[sequence & mask()] = static_cast<std::uint64_t>(now) << 3 |
                                   static_cast<std::uint64_t>(again ? 4 : 0) |
                                   static_cast<std::uint64_t>(PacketState::in_flight);
    }
    void set_state(std::uint32_t sequence, PacketState state) {
        std::uint64_t& record = ring_[sequence & mask()];
        record = (record & ~std::uint64_t{3}) | static_cast<std::uint64_t>(state);
    }

private:
    std::uint32_t mask() const { return static_cast<std::uint32_t>(ring_.size()) - 1; }
    void grow(std::uint32_t first) {
        std::vector<std::uint64_t> larger(ring_.size() * 2);
        const std::uint32_t larger_mask = static_cast<std::uint32_t>(larger.size()) - 1;
        for (std::uint32_t i = 0; i < ring_.size(); ++i) {
            larger[(first + i) & larger_mask] = ring_[(first + i) & mask()];
        }
        ring_.swap(larger);
    }

    std::vector<std::uint64_t> ring_;  // time << 3 | repeated << 2 | state
};

class ReceiverWindow {
public:
    ReceiverWindow() : bits_(1) {}

    // `first` is the lowest packet that has not arrived.
    bool has(std::uint32_t first, std::uint32_t sequence) const {
        return sequence - first < capacity() && bit(sequence);
    }
    void add(std::uint32_t first, std::uint32_t sequence) {
        while (sequence - first >= capacity()) {
            grow(first);
        }
        bits_[word(sequence)] |= std::uint64_t{1} << (sequence % 64);
    }
    void remove(std::uint32_t sequence) {
        bits_[word(sequence)] &= ~(std::uint64_t{1} << (sequence % 64));
    }
    // Bit i is set if packet `base` + i has arrived. `first` <= `base`.
    std::uint64_t bitmap(std::uint32_t first, std::uint32_t base) const {
        if (base - first >= capacity()) {
            return 0;
        }
        const std::uint32_t shift = base % 64;
        std::uint64_t result = bits_[word(base)] >> shift;
        if (shift != 0) {
            result |= bits_[word(base + 64)] << (64 - shift);
        }
        const std::uint32_t valid = capacity() - (base - first);  // beyond it the ring starts again
        if (valid < 64) {
            result &= (std::uint64_t{1} << valid) - 1;
        }
        return result;
    }

private:
    std::uint32_t capacity() const { return static_cast<std::uint32_t>(bits_.size()) * 64; }
    std::size_t word(std::uint32_t sequence) const { return (sequence / 64) & (bits_.size() - 1); }
    bool bit(std::uint32_t sequence) const {
        return (bits_[word(sequence)] >> (sequence % 64) & 1) != 0;
    }
    void grow(std::uint32_t first) {
        ReceiverWindow larger;
        larger.bits_.assign(bits_.size() * 2, 0);
        for (std::uint32_t i = 0; i < capacity(); ++i) {
            if (bit(first + i)) {
                larger.bits_[larger.word(first + i)] |= std::uint64_t{1} << ((first + i) % 64);
            }
        }
        bits_.swap(larger.bits_);
    }

    std::vector<std::uint64_t> bits_;
};

}  // namespace orrery::packet
