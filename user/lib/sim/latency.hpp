// SPDX-License-Identifier: Apache-2.0
// How long the parts of a memory system take, as distributions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ds/result.hpp>

#include "sim/random.hpp"

namespace ds::sim {

/// Either always the same time, or log-normal, given by its median and its 99th percentile.
class Latency {
public:
    static constexpr uint64_t most_ns = 1'000'000'000;
    static constexpr uint64_t most_spread = 100;  // P99 / median

    static Latency constant(uint64_t ns) { return Latency(ns, nullptr); }

    /// EINVAL unless 1 <= @p median_ns <= @p p99_ns <= most_ns, and the P99 at most most_spread
    /// medians: beyond it, the mean is a matter of events too rare for a simulation to meet.
    static Result<Latency> lognormal(uint64_t median_ns, uint64_t p99_ns);

    /// In ns: the same each time for the same stream and @p place. A log-normal one is taken from a
    /// table of quantiles, 1,024 of all and 1,024 of the slowest 1,024th, with straight lines
    /// between them; what is rarer than one in two million is cut off.
    uint64_t draw(const Random::Stream &stream, uint64_t place) const {
        return quantiles_ ? between(stream.bits(place)) : median_ns_;
    }

    uint64_t median_ns() const { return median_ns_; }

    bool operator==(const Latency &) const = default;

private:
    static constexpr unsigned share_bits = 10, line_bits = 16;
    static constexpr uint64_t shares = uint64_t(1) << share_bits;

    /// Where shares of the times begin: of all but the slowest, then of its parts.
    using Quantiles = std::vector<uint64_t>;

    Latency(uint64_t median_ns, std::shared_ptr<const Quantiles> quantiles)
        : median_ns_(median_ns), quantiles_(std::move(quantiles)) {}

    static const std::vector<double> &normal_quantiles();

    uint64_t between(uint64_t bits) const {
        uint64_t share = take(bits, share_bits);
        if (share + 1 == shares)
            share += take(bits, share_bits);
        const uint64_t *from = quantiles_->data() + share;
        uint64_t low = from[0], span = from[1] - low;
        return low +
               ((span * take(bits, line_bits) + (uint64_t(1) << (line_bits - 1))) >> line_bits);
    }

    /// The highest of @p bits, which are gone then.
    static uint64_t take(uint64_t &bits, unsigned number) {
        uint64_t taken = bits >> (64 - number);
        bits <<= number;
        return taken;
    }

    uint64_t median_ns_;
    std::shared_ptr<const Quantiles> quantiles_;  // all copies have the same; none: a constant
};

/// What the simulator assumes of hardware that this project has not got.
struct Latencies {
    /// On-chip SRAM: 1 to 2 cycles of an FPGA at 250 to 322 MHz. An assumption: nothing citable.
    Latency l1 = Latency::constant(5);

    /// CXL memory: 170 ns is what MEMTIS takes for it (htmm.h); devices that were measured have
    /// 140 to 410 ns (Melody, ASPLOS 2025), of which the upper end stands for the P99.
    Latency l2 = Latency::lognormal(170, 410).or_throw();

    /// Host memory read by the NIC: DMA 500 ns (csRNA, Rnic.py) and DRAM 80 ns (MEMTIS, htmm.h);
    /// a write is posted, 250 ns and the DRAM. P99 of twice the median is an assumption.
    Latency l3_read = Latency::lognormal(580, 1160).or_throw();
    Latency l3_write = Latency::lognormal(330, 660).or_throw();

    /// Doorbell, mailbox and the driver's answer: 2 to 10 us, an assumption.
    Latency expand = Latency::lognormal(2000, 10'000).or_throw();

    bool operator==(const Latencies &) const = default;
};

/// bytes/ns of the CXL port (cxlsim2's README) and of PCIe x16 (128 Gb/s, csRNA's run_hangu.py).
constexpr double cxl_bytes_per_ns = 37;
constexpr double pcie_bytes_per_ns = 16;

}  // namespace ds::sim
