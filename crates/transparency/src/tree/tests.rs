//! The tree against values from elsewhere, and against the definitions of the RFC written down once more.

use proptest::prelude::*;

use super::*;

/// The eight leaves that implementations of RFC 6962 share as test data, and the roots of their first 0 to 8.
const LEAVES: [&str; 8] =
    ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
const ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

fn node(text: &str) -> NodeHash {
    NodeHash(hex::decode(text).unwrap().try_into().unwrap())
}

fn shared_leaves() -> Vec<NodeHash> {
    LEAVES.iter().map(|leaf| hash(&[&[0], &hex::decode(leaf).unwrap()])).collect()
}

#[test]
fn roots_are_those_of_other_implementations() {
    let leaves = shared_leaves();
    for (size, root) in ROOTS.iter().enumerate() {
        assert_eq!(Frontier::of(&leaves[..size]).root(), node(root), "{size} leaves");
        assert_eq!(defined_root(&leaves[..size]), node(root), "{size} leaves");
    }
}

#[test]
fn proofs_are_those_of_other_implementations() {
    let leaves = shared_leaves();
    let inclusion = [
        (
            0,
            8,
            vec![
                "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
            ],
        ),
        (
            5,
            8,
            vec![
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ],
        ),
        (2, 3, vec!["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]),
    ];
    for (index, size, path) in inclusion {
        let path: Vec<NodeHash> = path.into_iter().map(node).collect();
        assert_eq!(included(&leaves, index, size), path, "leaf {index} of {size}");
    }
    let consistency = [
        (
            6,
            8,
            vec![
                "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ],
        ),
        (
            2,
            5,
            vec![
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            ],
        ),
    ];
    for (old, size, path) in consistency {
        let path: Vec<NodeHash> = path.into_iter().map(node).collect();
        assert_eq!(consistent(&leaves, old, size), path, "from {old} to {size}");
    }
}

/// MTH, PATH and PROOF as the RFC defines them, by recursion over the leaves.
fn defined_root(leaves: &[NodeHash]) -> NodeHash {
    match leaves {
        [] => hash(&[]),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len() as u64) as usize);
            NodeHash::above(&defined_root(left), &defined_root(right))
        }
    }
}

fn defined_path(index: usize, leaves: &[NodeHash]) -> Vec<NodeHash> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let middle = split(leaves.len() as u64) as usize;
    let (left, right) = leaves.split_at(middle);
    let (mut path, last) = match index < middle {
        true => (defined_path(index, left), defined_root(right)),
        false => (defined_path(index - middle, right), defined_root(left)),
    };
    path.push(last);
    path
}

fn defined_proof(old: usize, leaves: &[NodeHash], is_known: bool) -> Vec<NodeHash> {
    if old == leaves.len() {
        return if is_known { Vec::new() } else { vec![defined_root(leaves)] };
    }
    let middle = split(leaves.len() as u64) as usize;
    let (left, right) = leaves.split_at(middle);
    let (mut path, last) = match old <= middle {
        true => (defined_proof(old, left, is_known), defined_root(right)),
        false => (defined_proof(old - middle, right, false), defined_root(left)),
    };
    path.push(last);
    path
}

fn subtree(leaves: &[NodeHash]) -> impl FnMut(Range<u64>) -> Result<NodeHash, ()> + '_ {
    |range| Ok(defined_root(&leaves[range.start as usize..range.end as usize]))
}

fn included(leaves: &[NodeHash], index: u64, size: u64) -> Vec<NodeHash> {
    inclusion_path(index, size, subtree(leaves)).unwrap()
}

fn consistent(leaves: &[NodeHash], old: u64, size: u64) -> Vec<NodeHash> {
    consistency_path(old, size, subtree(leaves)).unwrap()
}

fn numbered(count: u64) -> Vec<NodeHash> {
    (0..count).map(|number| hash(&[&[0], &number.to_le_bytes()])).collect()
}

#[test]
fn every_proof_of_small_trees_is_as_defined_and_holds_for_nothing_else() {
    let leaves = numbered(33);
    for size in 1..=33u64 {
        let (blocks, rest) = leaves[..size as usize].as_chunks::<4>();
        let blocks: Vec<NodeHash> = blocks.iter().map(|block| defined_root(block)).collect();
        assert_eq!(Frontier::of_blocks(&blocks, 4, rest), Frontier::of(&leaves[..size as usize]));
        let of_size = &leaves[..size as usize];
        let root = defined_root(of_size);
        for index in 0..size {
            let path = included(&leaves, index, size);
            assert_eq!(path, defined_path(index as usize, of_size));
            check_inclusion(leaves[index as usize], index, size, &path, root).unwrap();
            for other in 0..size {
                let leaf = leaves[other as usize];
                assert_eq!(check_inclusion(leaf, index, size, &path, root).is_ok(), other == index);
                let moved = check_inclusion(leaves[index as usize], other, size, &path, root);
                assert_eq!(moved.is_ok(), other == index, "leaf {index} as {other} of {size}");
            }
        }
        for old in 0..=size {
            let path = consistent(&leaves, old, size);
            let old_root = defined_root(&leaves[..old as usize]);
            if old > 0 {
                assert_eq!(path, defined_proof(old as usize, of_size, true));
            }
            let frontier = Frontier::of(&leaves[..old as usize]);
            assert_eq!(frontier.extension(&leaves[old as usize..size as usize]), path, "from {old} to {size}");
            check_consistency((old, old_root), (size, root), &path).unwrap();
            for other in 1..=size {
                let root_of_other = defined_root(&leaves[..other as usize]);
                let claimed = check_consistency((old, root_of_other), (size, root), &path);
                assert_eq!(claimed.is_ok(), other == old || old == 0, "{other} as {old} of {size}");
            }
        }
        assert!(check_inclusion(leaves[0], size, size, &[], root).is_err());
        assert!(check_consistency((size + 1, root), (size, root), &[]).is_err());
    }
}

proptest! {
    #[test]
    fn no_changed_proof_holds(size in 2u64..300, at in any::<u64>(), old in any::<u64>(), change in any::<usize>()) {
        let leaves = numbered(size);
        let (root, at, old) = (Frontier::of(&leaves).root(), at % size, 1 + old % (size - 1));
        let mut path = included(&leaves, at, size);
        check_inclusion(leaves[at as usize], at, size, &path, root).unwrap();
        let mut proof = consistent(&leaves, old, size);
        let old_root = Frontier::of(&leaves[..old as usize]).root();
        check_consistency((old, old_root), (size, root), &proof).unwrap();
        for list in [&mut path, &mut proof] {
            let place = change % list.len();
            list[place].0[change % 32] ^= 1;
        }
        prop_assert!(check_inclusion(leaves[at as usize], at, size, &path, root).is_err());
        prop_assert!(check_consistency((old, old_root), (size, root), &proof).is_err());
        path = included(&leaves, at, size);
        proof = consistent(&leaves, old, size);
        let (short_path, short_proof) = (&path[..path.len() - 1], &proof[..proof.len() - 1]);
        prop_assert!(check_inclusion(leaves[at as usize], at, size, short_path, root).is_err());
        prop_assert!(check_consistency((old, old_root), (size, root), short_proof).is_err());
        path.push(root);
        proof.push(root);
        prop_assert!(check_inclusion(leaves[at as usize], at, size, &path, root).is_err());
        prop_assert!(check_consistency((old, old_root), (size, root), &proof).is_err());
    }

    #[test]
    fn a_fork_has_no_proof(size in 2u64..200, old in any::<u64>(), changed in any::<u64>()) {
        let leaves = numbered(size);
        let old = 1 + old % (size - 1);
        let mut forked = leaves.clone();
        let changed = (changed % old) as usize;
        forked[changed] = hash(&[b"another"]);
        let old_root = Frontier::of(&leaves[..old as usize]).root();
        let root = Frontier::of(&forked).root();
        for proof in [consistent(&forked, old, size), consistent(&leaves, old, size)] {
            prop_assert!(check_consistency((old, old_root), (size, root), &proof).is_err());
        }
    }
}
