"""Trains a small model with Opacus until its budget is used up, with noise that follows the model, and goes on from its checkpoint.

    python train.py budgets.db checkpoint.pt

Run it again after it was killed: it repeats the step that was lost, if any, and charges only for new ones.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

import taximeter as tx
from taximeter.adapters.opacus import register

ROWS, BATCH = 400, 20


def people(rows: int, seed: int) -> TensorDataset:
    """Made-up people: four features, and a label that two of them decide."""
    features = torch.randn(rows, 4, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(features, (features[:, 0] + features[:, 1] > 0).long())


def training_account(ledger: tx.Ledger) -> tx.Account:
    """The account that pays, which is opened once. The order of its rule is chosen for steps like these."""
    if "training" not in [account.name for account in ledger.accounts()]:
        step = tx.sampled_gaussian(rate=BATCH / ROWS, sigma=2)
        ledger.create("training", "2,1e-5", rule="renyi", expecting=step, unit="person", neighbours="add-remove")
    return ledger.account("training")


def train(account: tx.Account, checkpoint: Path) -> None:
    """Trains until the account refuses, and keeps a checkpoint of every step."""
    # A step is seen, by anyone, when its checkpoint is written. So a step that was charged and then lost may be repeated.
    register(account, run="people", repeat_lost=True)
    engine = PrivacyEngine(accountant="taximeter")
    linear = torch.nn.Linear(4, 2)
    model, optimizer, batches = engine.make_private(
        module=linear, optimizer=torch.optim.SGD(linear.parameters(), lr=0.5),
        data_loader=DataLoader(people(ROWS, seed=1), batch_size=BATCH), noise_multiplier=2.0, max_grad_norm=1.0,
    )
    if checkpoint.exists():
        engine.load_checkpoint(path=checkpoint, module=model, optimizer=optimizer)
    loss_of = torch.nn.CrossEntropyLoss()
    public_features, public_labels = people(200, seed=2).tensors
    while True:
        for features, labels in batches:
            with torch.no_grad():
                public_loss = float(loss_of(model(public_features), public_labels))
            # Less noise for the last steps. The choice looks at the model and at public people, never at those who are protected.
            optimizer.noise_multiplier = 2.0 if public_loss > 0.4 else 1.5
            optimizer.zero_grad()
            loss_of(model(features), labels).backward()
            optimizer.step()
            written = checkpoint.with_suffix(".new")
            engine.save_checkpoint(path=written, module=model, optimizer=optimizer)
            os.replace(written, checkpoint)
            print(len(engine.accountant), f"{optimizer.noise_multiplier} {public_loss:.3f}", flush=True)


def main() -> None:
    """Trains, and says why it stopped."""
    with tx.Ledger(sys.argv[1], create=True) as ledger:
        account = training_account(ledger)
        try:
            train(account, Path(sys.argv[2]))
        except tx.Refused as refused:
            print(f"stopped after {account.document['charges']} steps: {refused}")


if __name__ == "__main__":
    main()
