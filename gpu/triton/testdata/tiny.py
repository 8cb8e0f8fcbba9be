"""Writes an OWLv2 with a few thousand random parameters into a folder. Its detections have no
meaning, but it runs the code of the real one."""

import json
import sys
from pathlib import Path

import torch
from transformers import CLIPTokenizer, Owlv2Config, Owlv2ForObjectDetection

# The printable ASCII characters, each alone and at the end of a word.
CHARACTERS = [chr(c) for c in range(33, 127)]


def main(folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokens = CHARACTERS + [c + "</w>" for c in CHARACTERS] + ["<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer.from_pretrained(folder, pad_token="!", model_max_length=32)
    tokenizer.save_pretrained(folder)
    config = Owlv2Config(
        text_config={
            "vocab_size": len(tokens), "hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2,
            "num_attention_heads": 4, "max_position_embeddings": 32, "pad_token_id": 0,
            "bos_token_id": len(tokens) - 2, "eos_token_id": len(tokens) - 1,
        },
        vision_config={
            "hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 4,
            "image_size": 64, "patch_size": 16,
        },
        projection_dim=32,
    )
    torch.manual_seed(1)
    Owlv2ForObjectDetection(config).save_pretrained(folder)


main(sys.argv[1])
