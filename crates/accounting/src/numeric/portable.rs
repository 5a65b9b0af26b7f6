//! Whether the elementary functions are the correctly rounded ones that every bound rests on.
//!
//! `core-math` is C, compiled where a program is built and, unless told otherwise, for the CPU of that machine. The CPU does not
//! change a result: a correctly rounded function has one. A compiler that is told to reorder arithmetic (`-ffast-math`), or that
//! keeps more digits than a double has (x87), does. So each function is evaluated once, at a few arguments, before the first
//! filter or odometer is made, and nothing is decided with one that gives other bits.

use std::sync::LazyLock;

use crate::error::{Error, ErrorKind};

/// An elementary function with what it must give.
struct Function {
    name: &'static str,
    evaluate: fn(f64) -> f64,
    /// That of the correctly rounded results.
    fingerprint: u64,
}

const fn function(name: &'static str, evaluate: fn(f64) -> f64, fingerprint: u64) -> Function {
    Function { name, evaluate, fingerprint }
}

static FUNCTIONS: [Function; 8] = [
    function("exp", core_math::exp, 0x8adb_c298_cc28_e0ce),
    function("expm1", core_math::expm1, 0xecd9_6acf_a8f6_3100),
    function("log", core_math::log, 0x2a1e_54cb_ee17_51e6),
    function("log1p", core_math::log1p, 0xee2f_38f9_e5ce_75d6),
    function("sinh", core_math::sinh, 0xcb96_348e_f2ac_ae58),
    function("cosh", core_math::cosh, 0x25bb_3a13_d4b0_2edb),
    function("tanh", core_math::tanh, 0xcc4b_7093_c33c_a67a),
    function("erfc", core_math::erfc, 0x8fc2_1aef_08ee_6593),
];

/// Arguments as bits. For one function or another the result is close to the middle between two floats, so that the last digit is hard
/// to get right; for the others they are as good as any.
#[rustfmt::skip]
static HARD: [u64; 95] = [
    0x3e09_e9cb_bfd6_080b, 0x3f1b_a07d_7325_0de7, 0x3f76_a4d1_af9c_c989, 0x3fcd_3f37_9943_9415, 0x4012_73c1_88aa_7b14,
    0x3f77_fb23_5d76_cce7, 0x3f16_6471_6b68_a409, 0x3fba_8f78_3d74_9a8f, 0x4055_9f03_8076_039c, 0x4000_2393_d597_6769,
    0x3f3c_eff3_2831_e2c2, 0x3fe0_05ae_0425_6bab, 0x3fd8_2b5d_faf5_9b4c, 0x3fd7_89d0_2594_8efa, 0x3fd8_bbe2_fb45_c151,
    0x3ffe_42a2_abb1_bf0f, 0x3fd9_d871_e078_ebce, 0x3fd8_172a_0e02_f90e, 0x3fd1_7569_3a03_b590, 0x4042_b708_8723_20e2,
    0x4067_0904_40ba_fce2, 0x407d_31bb_416e_890e, 0x4073_346a_f908_67a0, 0x3fba_8dfd_fc76_b141, 0x4067_51de_a0c7_e5e7,
    0x3ffc_82a1_11f7_7851, 0x3fe4_29d7_9379_9c3c, 0x3fae_453f_e704_ca5b, 0x3fa2_8970_dc69_7de8, 0x3fc9_9cc3_bf74_52f7,
    0x3f9c_dceb_7529_bf7f, 0x3fd2_d723_c786_f3a0, 0x3f60_8e67_7c6e_a05d, 0x3f8a_2eb7_5b97_5346, 0x4040_09eb_77cf_00c7,
    0x406b_56fe_3f49_3ac1, 0x408a_54d0_9ee4_2850, 0x4089_84a3_563d_1c18, 0x4064_aab6_dd54_a896, 0x408e_c2be_49c7_a1f2,
    0x4070_0b2f_3944_95d6, 0x406a_4177_75c7_9658, 0x408b_a811_13e2_60c6, 0x408e_8026_3794_1b1b, 0x4074_30e3_5c5e_74d7,
    0x408c_b351_c5a8_813f, 0x4069_19be_7bb7_59ae, 0x3fd4_169f_234f_23b9, 0x3e57_1374_4912_3ef7, 0x402f_dc8d_51ec_c5f8,
    0x4021_e020_416d_1a44, 0x4032_c72d_d868_3564, 0x3fb1_b6a7_1011_c800, 0x4026_c5ab_acb2_4062, 0x4033_1b39_d685_3c9c,
    0x3fd8_dd27_4af5_b080, 0x3ffa_c3a5_3ef2_f7c0, 0x4029_0f64_302f_115c, 0x4025_ac9e_662e_0874, 0x3e50_0000_0000_0000,
    0x4037_43d5_6093_48ac, 0x3fe0_3923_f2b4_7c07, 0x3ffe_9cc7_ed2e_1a7e, 0x4025_c6a1_9513_4874, 0x4014_76d4_01a5_f70c,
    0x4020_f333_fbff_07ca, 0x4021_d1a6_d599_1d6c, 0x3ff8_e749_3289_d860, 0x402a_1cd1_4719_5684, 0x4031_cdc7_fedc_3d34,
    0x4032_30fb_6acd_8740, 0x3fca_c343_b179_fec4, 0x3fd2_91c6_01a0_5276, 0x3e4d_12ed_0af1_a27f, 0x3fe3_3dfe_b0fa_4bfe,
    0x3fdd_88d7_550b_2826, 0x3fe1_005e_c0bc_cabb, 0x3ff5_dd97_05e0_4230, 0x3fde_9a76_17ad_b800, 0x3ff9_09b9_09bf_01d0,
    0x401d_a9ec_b061_5c90, 0x4021_de98_6f47_84fc, 0x4002_9af2_6b2d_73e8, 0x3f68_bc46_e0d8_5524, 0x3f61_06c2_cd5e_a6c3,
    0x3db5_2b18_fe8f_bad1, 0x4034_8de4_52fb_1a15, 0x3f34_a943_c917_ed26, 0x3d9b_71f3_a106_91d9, 0x3e46_af79_a30b_bf3c,
    0x402a_631d_4bc7_f56b, 0x3dab_71f3_a106_91d9, 0x3e5d_d483_60dd_7824, 0x3f06_07b6_7e03_b83b, 0x3fd3_2291_10bf_9d66,
];

impl Function {
    /// The hard arguments, their negatives where the function is defined there, and some that spread from 0.001 to 10.
    fn arguments(&self) -> impl Iterator<Item = f64> {
        let spread = std::iter::successors(Some(0.001), |x| Some(2.3 * x)).take(12);
        let is_of_positives = self.name.starts_with("log");
        let signed = move |bits: &u64| [f64::from_bits(*bits), -f64::from_bits(*bits)];
        HARD.iter().flat_map(signed).chain(spread).filter(move |x| *x > 0.0 || !is_of_positives)
    }

    /// FNV-1a, of whole results in place of bytes.
    fn computed(&self) -> u64 {
        let mix = |hash: u64, x: f64| (hash ^ (self.evaluate)(x).to_bits()).wrapping_mul(0x100_0000_01b3);
        self.arguments().fold(0xcbf2_9ce4_8422_2325, mix)
    }
}

/// The first function with other results than it must have.
fn find_wrong(functions: &[Function]) -> Option<&'static str> {
    functions.iter().find(|function| function.computed() != function.fingerprint).map(|function| function.name)
}

/// An error where the elementary functions are not the expected ones.
pub(crate) fn require_correct_rounding() -> Result<(), Error> {
    static WRONG: LazyLock<Option<&'static str>> = LazyLock::new(|| find_wrong(&FUNCTIONS));
    match *WRONG {
        None => Ok(()),
        Some(function) => Err(Error::new(ErrorKind::Rounding { function })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::high_precision::{Real, Wide};

    /// A function in arithmetic of more than a hundred digits.
    fn wide(name: &str, x: f64) -> Wide {
        let (one, two, x) = (Wide::whole(1), Wide::whole(2), Wide::from_f64(x));
        match name {
            "exp" => x.exp(),
            "expm1" => x.exp_m1(),
            "log" => x.ln(),
            "log1p" => x.ln_1p(),
            "sinh" => (x.exp_m1() - (-x).exp_m1()) / two,
            "cosh" => (x.exp() + (-x).exp()) / two,
            "tanh" => one - two / (x.twice().exp() + one),
            "erfc" => two * (x * two.sqrt()).upper_tail(),
            _ => panic!("{name} is not known"),
        }
    }

    #[test]
    fn the_fingerprints_are_those_of_correctly_rounded_results() {
        for function in &FUNCTIONS {
            for x in function.arguments() {
                let y = (function.evaluate)(x);
                if !y.is_normal() {
                    continue;
                }
                let exact = wide(function.name, x);
                let middle = |neighbour: f64| (Wide::from_f64(y) + Wide::from_f64(neighbour)).half();
                let is_nearest = middle(y.next_down()) < exact && exact < middle(y.next_up());
                assert!(is_nearest, "{} at {x:e} is not {y:e}", function.name);
            }
            let computed = function.computed();
            assert_eq!(computed, function.fingerprint, "{}: {computed:#x}", function.name);
        }
        assert_eq!(require_correct_rounding(), Ok(()));
    }

    /// The error of a function that is off in the last digit of a single result.
    #[test]
    fn one_other_bit_is_found() {
        let evaluate = |x: f64| if x == 0.001 { core_math::tanh(x).next_up() } else { core_math::tanh(x) };
        let tanh = FUNCTIONS.iter().find(|function| function.name == "tanh").unwrap();
        let off = Function { evaluate, ..*tanh };
        assert_eq!(find_wrong(&[off]), Some("tanh"));
    }
}
