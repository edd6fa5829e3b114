"""What a decision is: request, prompts, images and answers. Standard library and Pillow only."""
